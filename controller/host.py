"""`Controller`, the object that a host embeds. The protocol that the host implements is
`kedge.controller.model.host.Host`.

Each node has one `Controller`. Any number of them may run on one store: one is active, the others stand by.

`start()` drives a controller with its own threads; `poll_once()` drives it from the host's loop. Both run the same
code.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager
from inspect import iscoroutinefunction
from typing import Any, Final, Self, TypeVar

from ..stores.base import MetadataStore
from .admin import Admin, Hooks, as_timeout
from .admin.checks import as_broker, as_epochs, as_partition, require
from .codec.keys import USERS
from .codec.producer_ids import ProducerIdBlock
from .metrics.collecting import collect
from .metrics.snapshot import Snapshot
from .model.errors import ControllerError
from .model.events import AlterIsr, ShutdownAsked
from .model.host import Host
from .model.requests import AcceptedIsr, as_replicas
from .model.values import BrokerRegistration, Settings, TopicPartition
from .model.view import ClusterView
from .rules.isr import accepted_isr
from .runtime import config_keys, producer_ids
from .runtime.clock import Clock, IdSource, SystemClock
from .runtime.description import Description, describe
from .runtime.executors import Executor, InlineExecutor, ThreadExecutor
from .runtime.gc_tuning import tuned
from .runtime.inbox import Inbox
from .runtime.journal import Journal
from .runtime.log_reports import LogReport, LogReports
from .runtime.loop import Loop
from .runtime.measures import Measures, Unmeasured
from .runtime.notices import Notices
from .runtime.permitted import PermittedStore
from .runtime.registrar import Registrar
from .runtime.replies import Outstanding
from .runtime.services import Services
from .runtime.submit import Submitter
from .runtime.threads import Threads

__all__ = ["Controller", "Description", "Host", "WrongMode"]

T = TypeVar("T")


class WrongMode(ControllerError, RuntimeError):
    """The call does not fit how the controller is driven (threads or `poll_once`, not both), or it was closed."""


class Controller:
    """An embeddable controller over a metadata store.

    `store`: a client of the store with its own session. ValueError if another controller uses it. The caller closes it,
    after the controller.
    `node_id`: the id of this controller in the cluster. `host`: the callbacks (`kedge.controller.model.host.Host`).
    They are called outside the loop thread (with `poll_once` on the caller's thread), one at a time per broker.
    `seed` makes nonces, topic ids and placements repeatable; `clock` and `executor` are for simulations.
    `hooks`: the host's authorizer and policies for requests of the admin API.

    `stand_by_only`: never take part in the election. The controller registers brokers and follows the active one, for
    example in a broker process that must not become the controller.

    `tune_gc`: tune Python's garbage collector for the controller (`docs/running.md`). It holds for the whole process
    until the controller is closed; objects that were frozen stay frozen.

    `metrics`: take the measurements for `metrics()` (`docs/metrics.md`). Without it, `metrics()` still has the values
    that cost nothing.

    `host` may also have the methods of `kedge.controller.model.host.HostNotices`; they are looked up once, here.
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
        metrics: bool = True,
        tune_gc: bool = False,
        stand_by_only: bool = False,
    ) -> None:
        if type(node_id) is not int or not 0 <= node_id < 2**31:
            raise ValueError(f"node_id must be an int within 0..2^31-1, not {node_id!r:.80}")
        _require_host(host)
        require(store, MetadataStore, "store")
        for value, kind, name in (
            (settings, Settings, "settings"),
            (journal, Journal, "journal"),
            (hooks, Hooks, "hooks"),
        ):
            if value is not None:
                require(value, kind, name)
        clock = clock or SystemClock()
        _take(store)
        self._store = store
        self.settings = settings or Settings()
        self._executor = executor
        late = _Late(self)
        self._services = Services(
            controller_id=node_id,
            store=PermittedStore(store),
            host=host,
            settings=self.settings,
            clock=clock,
            id_source=IdSource(seed),
            executor=late,
            inbox=Inbox(self.settings.inbox_max),
            outstanding=Outstanding(),
            journal=journal or Journal(),
            log_reports=LogReports(),
            notices=Notices(host, late),
            measures=Measures(clock) if metrics else Unmeasured(clock),
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
        """The controller runs on threads of its own until `close()`. Raises WrongMode if it ran or was closed
        before."""
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
        """Run one pass of the loop on this thread, callbacks included, and return whether it did anything.

        Waits up to `timeout_s` seconds if there is nothing to do. Not reentrant: a callback must not call it. An
        exception of Kedge's own ends the term, is raised, and stays in `describe().findings` as "defect": go on
        calling, and the next term loads everything again."""
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

    def _may_lead(self) -> None:
        self._may_run()
        if not self.is_active:
            raise self._loop.not_controller()

    def close(self, timeout_s: float = 10.0) -> None:
        """Resign and stop. Afterwards the controller commits nothing, its brokers are unregistered, and pending futures
        have failed with NOT_CONTROLLER. The next controller is elected at once. Waits up to `timeout_s` seconds for
        each part to stop. Idempotent."""
        with self._closing:
            if self._closed:
                return
            self._closed = True
        if self._threads is not None:
            self._threads.stop(timeout_s)
        inside = self._loop.driver == threading.get_ident()  # a callback that closes its own controller
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
        """`with controller.running():` starts the threads, and closes the controller at the end of the block."""
        with self:
            self.start()
            yield self

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- state

    @property
    def is_active(self) -> bool:
        """Whether this controller is the active one, as far as it knows."""
        return self._loop.is_active

    @property
    def active_id(self) -> int | None:
        """The id of the active controller, None if none is known."""
        return self._loop.active_id

    @property
    def controller_epoch(self) -> int | None:
        """The epoch of this controller while it is active, None while it stands by."""
        return self._loop.controller_epoch

    @property
    def is_cut_off(self) -> bool:
        """Whether the store has not answered for the length of a session. Then this controller knows of no active
        one."""
        return self._loop.silence is not None

    def describe(self) -> Description:
        """The cluster as of the last commit. Works on a stand-by too, and from any thread."""
        return describe(self._loop, self._registrar)

    def metrics(self) -> Snapshot:
        """The measurements under Kafka's names (`docs/metrics.md`), as of the last committed batch. Works from any
        thread and does not wait for the loop. A stand-by leaves out the values that only the active controller has."""
        return collect(self._loop)

    def query(self, ask: Callable[[ClusterView], T], *, timeout_s: float = 60.0) -> Future[T]:
        """Return the result of `ask(view)` on the committed state (`kedge.controller.model.view.ClusterView`).

        `ask` runs on the loop between two batches. It must not change the view; neither `ask` nor its result may keep
        the view after the call. An exception of `ask` becomes the exception of the future.

        Errors: NotController, RequestTimedOut. TypeError if `ask` is not callable.
        """
        if not callable(ask):
            raise TypeError(f"ask must be callable with a view, not {ask!r:.80}")
        return self._submitter.query(ask, as_timeout(timeout_s)).future()

    # --- calls of the host

    def register_broker(self, registration: BrokerRegistration) -> int:
        """Register a broker in a store session of its own and return its epoch. Works on a stand-by too. If the session
        is lost, the controller registers the broker again, under the same id and a new epoch.

        `broker_id` -1 (NEW_BROKER_ID) registers a new broker under a generated id above
        `Settings.reserved_broker_max_id`; `broker_epochs` holds that id. For an id that outlives the process, call
        `generate_broker_id`, store the id beside the broker's logs, and register the broker under it.

        A registration that an earlier process left behind, with the same node id, host and port, is replaced, so that a
        restarted process does not wait until its former session has ended.

        Raises DuplicateBrokerRegistration if another process has registered the id (also with the same host and port),
        StoreError if the store cannot be reached.
        """
        require(registration, BrokerRegistration, "registration")
        self._may_run()
        return self._registrar.register(registration)

    def generate_broker_id(self) -> int:
        """Return a broker id that was never generated before, above `Settings.reserved_broker_max_id`
        (`/brokers/seqid`).

        Works on a stand-by too. Ids rise, with gaps. Raises StoreError if the store cannot be reached or no id is
        left."""
        self._may_run()
        return self._registrar.generate_id()

    @property
    def broker_epochs(self) -> Mapping[int, int]:
        """The brokers that this host registered and did not unregister: id -> its latest epoch."""
        return self._registrar.epochs

    def unregister_broker(self, broker_id: int, epoch: int) -> None:
        """Remove the registration of the broker with this epoch. StaleBrokerEpoch if the broker has another epoch."""
        self._registrar.unregister(broker_id, epoch)

    def broker_epoch(self, broker_id: int) -> int | None:
        """The epoch of the latest registration of a broker by this host, None if the host has not registered it."""
        return self._registrar.epoch_of(broker_id)

    def controlled_shutdown(
        self, broker_id: int, broker_epoch: int, *, timeout_s: float = 60.0
    ) -> Future[tuple[TopicPartition, ...]]:
        """Move leaders and ISR memberships off a broker, where other replicas can take over. The result is the
        partitions that the broker still leads; if it is empty, the broker can stop.

        From then on the broker gets no leadership, no replica and no ISR membership until it is registered under a new
        epoch: in a new session, or by `unregister_broker` and `register_broker`. Updating the registration under the
        same epoch does not end the shutdown. A repeated request tries again.

        The shutdown is kept in the memory of this controller. After NOT_CONTROLLER, or if the answer is lost, repeat
        the request on the active controller. Errors: NotController, StaleBrokerEpoch if `broker_epoch` is not the
        registered one, RequestTimedOut. TypeError if an argument is not an int.
        """
        if type(broker_id) is not int or type(broker_epoch) is not int:
            raise TypeError(f"broker_id and broker_epoch must be ints, not {broker_id!r:.80}, {broker_epoch!r:.80}")
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
        isr_epochs: Mapping[int, int] | None = None,
        timeout_s: float = 30.0,
    ) -> Future[AcceptedIsr]:
        """Change the ISR of a partition, on behalf of its leader. The result is the committed ISR with its partition
        epoch (the generation of the state key). If the change completes a reassignment, it is the final ISR.

        `isr_epochs`: the broker epochs of members, by id, as their fetches gave them; -1 or none where it is unknown. A
        member under another epoch was restarted since, and may have lost records: IneligibleReplica (KIP-903).

        Errors: NotController, StaleBrokerEpoch, UnknownTopicOrPartition, FencedLeaderEpoch, InvalidUpdateVersion,
        IneligibleReplica, InvalidRequest, RequestTimedOut. TypeError if an argument has the wrong type.
        """
        as_partition(tp)
        numbers = (leader, leader_epoch, partition_epoch, broker_epoch, leader_recovery_state)
        if set(map(type, numbers)) != {int}:
            raise TypeError(f"leader, epochs and recovery state must be ints, not {numbers!r:.200}")
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
            isr_epochs=as_epochs(isr_epochs),
        )
        return self._submitter.ask(event, as_timeout(timeout_s), "alter_isr", answer=accepted_isr).future()

    def allocate_producer_ids(self, broker_id: int) -> ProducerIdBlock:
        """A block of 1,000 producer ids for a broker, none of which any broker was given before (KIP-730). It reads and
        writes the store on the calling thread. Ids rise; a lost reply leaves a block out.

        Raises NotController, and StoreError where the store cannot be reached or no ids are left. TypeError or
        ValueError for what cannot be a broker's id.
        """
        self._may_lead()
        return producer_ids.allocate(self._store, as_broker(broker_id), self._services.read_timeout_s)

    def change_user_configs(self, name: str, to: Callable[[Mapping[str, str]], Mapping[str, str]]) -> None:
        """A user of Kafka's brokers has the configs that `to` returns for the present ones: SCRAM credentials, and
        quotas. The brokers are notified as Kafka does it. It reads and writes the store on the calling thread, again
        where another program was first, so `to` may be called several times. `name`: as in the path of the key.

        Raises NotController, what `to` raises, InvalidKey for a name that is no part of a path, Corrupt where the key
        holds something else, and StoreError where the store cannot be reached. TypeError if the name is not a str, or
        `to` returns something else than texts.
        """
        require(name, str, "name")
        self._may_lead()
        config_keys.change(self._store, USERS, name, to, self._services.read_timeout_s)

    def report_log(self, reports: LogReport | Iterable[LogReport]) -> None:
        """Report the offsets and bytes of logs. Progress and lag are computed from them. Kept in memory only."""
        self._services.log_reports.report([reports] if isinstance(reports, LogReport) else reports)

    def reported_log(self, tp: TopicPartition, broker_id: int) -> LogReport | None:
        """The latest report of a replica's log that this controller received, None if there is none. Works from any
        thread and does not wait for the loop. TypeError if `tp` is no TopicPartition."""
        as_partition(tp)
        return self._services.log_reports.of(tp.topic, tp.partition, broker_id)

    def admin_for(self, principal: str | None) -> Admin:
        """The admin API for `principal` (None: the host itself, which may do everything). TypeError if it is no str."""
        if principal is not None:
            require(principal, str, "principal")
        return Admin(
            self._submitter,
            self._services.id_source,
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
    """Reserve the client. ValueError if an open controller uses it: two controllers on one session would both lead."""
    with _taking:
        if store in _taken:
            raise ValueError("store is used by another controller: give each a client of its own (`another_session()`)")
        _taken.add(store)


def _give_back(store: MetadataStore) -> None:
    with _taking:
        _taken.discard(store)


def _require_host(host: object) -> None:
    """TypeError if `host` cannot be called as a host; without this check, the first callback would fail."""
    if isinstance(host, type) or not isinstance(host, Host):
        raise TypeError(f"host must be an object with leader_and_isr, update_metadata and stop_replica: {host!r:.200}")
    for callback in (host.leader_and_isr, host.update_metadata, host.stop_replica):
        if iscoroutinefunction(callback):
            raise TypeError(f"wrap a host of coroutines in kedge.controller.aio.HostOnLoop: {callback!r:.200}")


class _Late:
    """Stands in for the executor until the controller knows how it is driven, which is before the first callback."""

    def __init__(self, controller: Controller) -> None:
        self._controller = controller

    def submit(self, broker: int, call: Any) -> None:
        self._controller._executor_now().submit(broker, call)  # noqa: SLF001 - a part of Controller

    def close(self, timeout_s: float) -> None:
        """Does nothing: the controller closes the executor that it chose."""
