"""What a host embeds: `Controller` (and, from `model`, the protocol that it implements: `Host`).

One object per node; any number of them may be started on one store, one of them is active, the others stand by.

Drive it with `start()` (threads of its own) or with `poll_once()` from the host's own loop; both run the same code.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager
from inspect import iscoroutinefunction
from typing import Any, Final, Self, TypeVar

from controller.admin import Admin, Hooks, as_timeout
from controller.codec.producer_ids import ProducerIdBlock
from controller.metrics.collecting import collect
from controller.metrics.snapshot import Snapshot
from controller.model.errors import ControllerError
from controller.model.events import AlterIsr, ShutdownAsked
from controller.model.host import Host
from controller.model.requests import AcceptedIsr, as_replicas
from controller.model.values import BrokerRegistration, Settings, TopicPartition
from controller.model.view import ClusterView
from controller.rules.isr import accepted_isr
from controller.runtime import producer_ids
from controller.runtime.clock import Chance, Clock, SystemClock
from controller.runtime.collector import tuned
from controller.runtime.description import Description, describe
from controller.runtime.executors import Executor, InlineExecutor, ThreadExecutor
from controller.runtime.inbox import Inbox
from controller.runtime.journal import Journal
from controller.runtime.log_reports import LogReport, LogReports
from controller.runtime.loop import Loop
from controller.runtime.measures import Measures, Unmeasured
from controller.runtime.notices import Notices
from controller.runtime.readable import ReadableStore
from controller.runtime.registrar import Registrar
from controller.runtime.replies import Outstanding
from controller.runtime.services import Services
from controller.runtime.submit import Submitter
from controller.runtime.threads import Threads
from stores.base import MetadataStore

__all__ = ["Controller", "Description", "Host", "WrongMode"]

T = TypeVar("T")


class WrongMode(ControllerError, RuntimeError):
    """A controller is driven by its threads or by `poll_once`, not by both; and not after it was closed."""


class Controller:
    """An embeddable controller over a metadata store.

    `store`: a client of the store, with a session of its own (ValueError for one that another controller has); closed
    by whoever made it, after the controller.
    `node_id`: what the others know this controller by. `host`: the callbacks (`controller.model.host.Host`); they come
    one at a time per broker, outside the loop thread (in `poll_once` mode on the caller's thread).
    `seed` makes nonces, topic ids and placements repeatable; `clock` and `executor` are for simulations.
    `hooks`: the host's authorizer and policies for requests of the admin API.

    `awaits_cluster`: stand by until the store holds a cluster (a controller epoch), rather than begin one there. For a
    store that the cluster is about to be moved to (`docs/migrating.md`): brokers can be registered in it, nothing else.

    `stand_by_only`: never stand for election. The controller registers brokers and follows the active controller, for
    example in a broker process that must not become the controller.

    `tune_gc`: Python's collector is tuned for what a controller does (`docs/settings.md`), in all of the process,
    until this controller is closed; what was frozen stays frozen.

    `metrics`: measure what `metrics()` tells (`docs/metrics.md`); without it, what costs nothing is told still.

    `host` may take notices, too (`controller.model.host.HostNotices`); its methods are looked up here, once.
    """

    def __init__(
        self,
        store: MetadataStore,
        node_id: int,
        host: Host,
        *,
        settings: Settings | None = None,
        journal: Journal | None = None,
        clock: Clock | None = None,
        seed: int | str | None = None,
        executor: Executor | None = None,
        hooks: Hooks | None = None,
        awaits_cluster: bool = False,
        metrics: bool = True,
        tune_gc: bool = False,
        stand_by_only: bool = False,
    ) -> None:
        if type(node_id) is not int or not 0 <= node_id < 2**31:
            raise ValueError(f"node_id must be an int within 0..2^31-1, not {node_id!r:.80}")
        _require_host(host)
        if not isinstance(store, MetadataStore):
            raise TypeError(f"store must be a MetadataStore, not {store!r:.200}")
        if settings is not None and not isinstance(settings, Settings):
            raise TypeError(f"settings must be Settings, not {settings!r:.200}")
        if journal is not None and not isinstance(journal, Journal):
            raise TypeError(f"journal must be a Journal (over a sink), not {journal!r:.200}")
        if hooks is not None and not isinstance(hooks, Hooks):
            raise TypeError(f"hooks must be Hooks, not {hooks!r:.200}")
        clock = clock or SystemClock()
        _take(store)
        self._store = store
        self.settings = settings or Settings()
        self._executor = executor
        late = _Late(self)
        self._services = Services(
            controller_id=node_id,
            store=ReadableStore(store),
            host=host,
            settings=self.settings,
            clock=clock,
            chance=Chance(seed),
            executor=late,
            inbox=Inbox(self.settings.inbox_max),
            outstanding=Outstanding(),
            journal=journal or Journal(),
            log_reports=LogReports(),
            notices=Notices(host, late),
            measures=Measures(clock) if metrics else Unmeasured(clock),
            awaits_cluster=awaits_cluster,
            stand_by_only=stand_by_only,
        )
        timeout_s = self._services.read_timeout_s
        self._registrar = Registrar(
            store,
            self._services.clock,
            self.settings.registration_version,
            timeout_s,
            self.settings.reserved_broker_max_id,
            node_id=node_id,
        )
        self._loop = Loop(self._services, self._registrar)
        self._submitter = Submitter(self._loop)
        self._hooks = hooks
        self._threads: Threads | None = None
        self._closed = False
        self._polling = threading.Lock()
        self._polled = False
        self._closing = threading.Lock()
        self._tuned = ExitStack()
        if tune_gc:
            self._tuned.enter_context(tuned())
        self.admin = self.admin_for(None)

    # --- life

    def start(self) -> None:
        """The controller runs on threads of its own until `close()`."""
        self._may_run()
        if self._threads is not None:
            raise WrongMode("the controller has been started already")
        if self._polled:
            raise WrongMode("the controller is driven by poll_once")
        if self._executor is None:
            self._executor = ThreadExecutor(f"kedge-{self._services.controller_id}")
        self._threads = Threads(self._loop)
        self._threads.start()

    def poll_once(self, timeout_s: float = 0.0) -> bool:
        """One pass of the loop on this thread, callbacks included. Waits up to `timeout_s` seconds where there is
        nothing to do; whether anything was done. Not reentrant: a callback may not call it."""
        if isinstance(timeout_s, bool) or not isinstance(timeout_s, int | float):
            raise TypeError(f"timeout_s must be a number of seconds, not {timeout_s!r:.80}")
        if not timeout_s >= 0:
            raise ValueError(f"timeout_s must not be negative: {timeout_s}")
        self._may_run()
        if self._threads is not None:
            raise WrongMode("the controller runs on threads of its own")
        if not self._polling.acquire(blocking=False):
            raise WrongMode("poll_once is running already")
        try:
            self._polled = True
            self._loop.drain()
            return self._loop.step(timeout_s)
        finally:
            self._polling.release()

    def _may_run(self) -> None:
        if self._closed:
            raise WrongMode("the controller was closed")

    def close(self, timeout_s: float = 10.0) -> None:
        """Hand over and end: nothing is committed after this, the next controller is elected at once, own brokers are
        unregistered, futures that are left fail with NOT_CONTROLLER. Idempotent."""
        with self._closing:
            if self._closed:
                return
            self._closed = True
        if self._threads is not None:
            self._threads.stop(timeout_s)
        inside = self._loop.driver == threading.get_ident()  # a callback closes its own controller
        polling = not inside and self._polling.acquire(timeout=timeout_s)
        try:
            self._loop.resign()
        finally:
            if polling:
                self._polling.release()
        if self._executor is not None:
            self._executor.close(timeout_s)
        self._registrar.close()
        self._services.journal.close()
        self._tuned.close()
        _give_back(self._store)

    @contextmanager
    def running(self) -> Iterator[Self]:
        """`with controller.running():` it runs on threads of its own, and is closed at the end of the block."""
        with self:
            self.start()
            yield self

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- what it is

    @property
    def is_active(self) -> bool:
        """Whether this controller leads, as far as it knows."""
        return self._loop.is_active

    @property
    def active_id(self) -> int | None:
        """The active controller as this one knows it, None where none is known."""
        return self._loop.active_id

    @property
    def controller_epoch(self) -> int | None:
        """The epoch under which this controller leads, None while it stands by."""
        return self._loop.controller_epoch

    def describe(self) -> Description:
        """What this controller sees, as last committed; also on a stand-by, and from any thread."""
        return describe(self._loop, self._registrar)

    def metrics(self) -> Snapshot:
        """What is measured, under Kafka's names (`docs/metrics.md` has the table), as of the last committed batch; also
        on a stand-by, which leaves out what only the active one knows. From any thread, without waiting for the
        loop."""
        return collect(self._loop)

    def query(self, ask: Callable[[ClusterView], T], *, timeout_s: float = 60.0) -> Future[T]:
        """What `ask(view)` makes of the committed state (`controller.model.view.ClusterView`), on the loop between two
        batches. The view is valid inside the call only: `ask` must neither change nor keep it, and what it returns must
        not hold it. What `ask` raises is what the future raises.

        Errors: NotController, RequestTimedOut. TypeError where `ask` cannot be called.
        """
        if not callable(ask):
            raise TypeError(f"ask must be callable with a view, not {ask!r:.80}")
        return self._submitter.query(ask, as_timeout(timeout_s)).future()

    # --- what the host calls

    def register_broker(self, registration: BrokerRegistration) -> int:
        """The broker is registered, in a store session of its own; its epoch. Also on a stand-by. A broker whose
        session is lost is registered again by itself, under a new epoch and the same id.

        `broker_id` -1 (NEW_BROKER_ID) asks for a new broker with a generated id, above
        `Settings.reserved_broker_max_id`: `broker_epochs` tells which. An id that is to outlive the process is asked
        for with `generate_broker_id`, kept beside the broker's logs, and registered as any other.

        A registration that a former process left behind, with the same node id, host and port, is replaced: a process
        that was restarted need not wait for the end of its former session.

        Raises DuplicateBrokerRegistration for an id that another process has registered, also at the same host and
        port, StoreError where the store cannot be reached.
        """
        if not isinstance(registration, BrokerRegistration):
            raise TypeError(f"a BrokerRegistration is asked for, not {registration!r:.200}")
        self._may_run()
        return self._registrar.register(registration)

    def generate_broker_id(self) -> int:
        """A broker id that nobody was given before, above `Settings.reserved_broker_max_id` (`/brokers/seqid`). Also on
        a stand-by. Ids rise, and some may be left out. Raises StoreError where the store cannot be reached or no id is
        left."""
        self._may_run()
        return self._registrar.generate_id()

    @property
    def broker_epochs(self) -> Mapping[int, int]:
        """Every broker that this host registered and did not unregister: id -> the epoch that it was given last."""
        return self._registrar.epochs

    def unregister_broker(self, broker_id: int, epoch: int) -> None:
        """The registration that has this epoch is gone. StaleBrokerEpoch for any other."""
        self._registrar.unregister(broker_id, epoch)

    def broker_epoch(self, broker_id: int) -> int | None:
        """The epoch under which this host registered a broker last, None where it did not."""
        return self._registrar.epoch_of(broker_id)

    def controlled_shutdown(
        self, broker_id: int, broker_epoch: int, *, timeout_s: float = 60.0
    ) -> Future[tuple[TopicPartition, ...]]:
        """The broker leads and is in sync only where nobody else is; the answer is the partitions that it leads still
        (empty: it may go). From now on it gets nothing new: no leader, no replica, no place in an isr, until it is
        registered under a new epoch: in a new session, or by `unregister_broker` and then `register_broker`. Describing
        it anew under the same epoch does not take that back. Asked again it is looked at again.

        Only the controller that was asked knows of it: after NOT_CONTROLLER, or any other loss of the answer, ask the
        active one. Errors: NotController, StaleBrokerEpoch for another broker epoch than the registered one,
        RequestTimedOut. TypeError where an argument is no int.
        """
        if type(broker_id) is not int or type(broker_epoch) is not int:
            raise TypeError(f"broker_id and broker_epoch are ints, not {broker_id!r:.80}, {broker_epoch!r:.80}")
        event = ShutdownAsked(self._services.clock.now_ms(), broker_id, broker_epoch)
        return self._submitter.ask(event, as_timeout(timeout_s), "controlled_shutdown").future()

    def alter_isr(  # noqa: PLR0917 - in the order of the RPC
        self,
        tp: TopicPartition,
        leader: int,
        leader_epoch: int,
        partition_epoch: int,
        new_isr: Sequence[int],
        broker_epoch: int,
        leader_recovery_state: int = 0,
        *,
        timeout_s: float = 30.0,
    ) -> Future[AcceptedIsr]:
        """A leader says who is in sync. The answer is the isr as committed, with its partition epoch (generation of
        the state key); one that completes a move is answered with the final isr.

        Errors: NotController, StaleBrokerEpoch, UnknownTopicOrPartition, FencedLeaderEpoch, InvalidUpdateVersion,
        IneligibleReplica, InvalidRequest, RequestTimedOut. TypeError where an argument is not of its kind.
        """
        if not isinstance(tp, TopicPartition):
            raise TypeError(f"a TopicPartition is asked for, not {tp!r:.80}")
        numbers = (leader, leader_epoch, partition_epoch, broker_epoch, leader_recovery_state)
        if set(map(type, numbers)) != {int}:
            raise TypeError(f"leader, epochs and recovery state are ints, not {numbers!r:.200}")
        event = AlterIsr(
            self._services.clock.now_ms(),
            topic=tp.topic,
            partition=tp.partition,
            leader=leader,
            leader_epoch=leader_epoch,
            partition_epoch=partition_epoch,
            new_isr=as_replicas(new_isr, "new_isr"),
            broker_epoch=broker_epoch,
            leader_recovery_state=leader_recovery_state,
        )
        return self._submitter.ask(event, as_timeout(timeout_s), "alter_isr", answer=accepted_isr).future()

    def allocate_producer_ids(self, broker_id: int) -> ProducerIdBlock:
        """A block of 1,000 producer ids for a broker, none of which any broker was given before (KIP-730). It reads and
        writes the store on the calling thread. Ids rise; a lost reply leaves a block out.

        Raises NotController, and StoreError where the store cannot be reached or no ids are left.
        """
        self._may_run()
        if not self.is_active:
            raise self._loop.not_controller()
        return producer_ids.allocate(self._store, broker_id, self._services.read_timeout_s)

    def report_log(self, reports: LogReport | Iterable[LogReport]) -> None:
        """What a broker knows of a log: offsets and bytes. Kept in memory only; progress and lag are made of it."""
        self._services.log_reports.report([reports] if isinstance(reports, LogReport) else reports)

    def reported_log(self, tp: TopicPartition, broker_id: int) -> LogReport | None:
        """What was reported to this controller last of a replica's log, None where nothing was. From any thread,
        without waiting for the loop."""
        return self._services.log_reports.of(tp.topic, tp.partition, broker_id)

    def admin_for(self, principal: str | None) -> Admin:
        """The admin API as `principal` (None: the host itself, which may do everything)."""
        return Admin(
            self._submitter,
            self._services.chance,
            self._services.log_reports,
            principal=principal,
            hooks=self._hooks,
        )

    def _executor_now(self) -> Executor:
        if self._executor is None:
            self._executor = InlineExecutor()
        return self._executor


_taken: Final[weakref.WeakSet[MetadataStore]] = weakref.WeakSet()
_taking: Final = threading.Lock()


def _take(store: MetadataStore) -> None:
    """ValueError where a controller that is not closed has this client: two over one session would both lead."""
    with _taking:
        if store in _taken:
            raise ValueError("store is another controller's client: give each its own (`store.another_session()`)")
        _taken.add(store)


def _give_back(store: MetadataStore) -> None:
    with _taking:
        _taken.discard(store)


def _require_host(host: object) -> None:
    """TypeError for what cannot be called as a host: at the first callback it would be too late to say so."""
    if isinstance(host, type) or not isinstance(host, Host):
        raise TypeError(f"host must be an object with leader_and_isr, update_metadata and stop_replica: {host!r:.200}")
    for callback in (host.leader_and_isr, host.update_metadata, host.stop_replica):
        if iscoroutinefunction(callback):
            raise TypeError(f"a host of coroutines goes into controller.aio.HostOnLoop: {callback!r:.200}")


class _Late:
    """The executor that the mode of driving decides on: known when the first callback goes out."""

    def __init__(self, controller: Controller) -> None:
        self._controller = controller

    def submit(self, broker: int, call: Any) -> None:
        self._controller._executor_now().submit(broker, call)  # noqa: SLF001 - one thing in two classes

    def close(self, timeout_s: float) -> None:
        """The controller closes what it chose."""
