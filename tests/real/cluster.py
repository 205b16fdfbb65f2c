"""A cluster on a real store: controllers in processes of their own, the rig's brokers in the process of the test.

One thread drives it all, in real time: `step` takes what the processes said, lets brokers copy and ask, and returns
after 10 ms at the latest, so `until` is the one way to wait. The brokers are those of `kedge.controller.rig`, so they
drop what is old, hold logs, and know what was acknowledged; each has a session of its own with the store.

`hold_back`: followers of a partition that moves fetch nothing before `let_go` names it. So a test decides how many of
its moves can end, on machines of any speed.
"""

from __future__ import annotations

import contextlib
import random
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final, Self, cast

import attrs

from kedge import ApiError, BrokerRegistration, HostResponse, NewTopic, NotController, Settings, TopicPartition
from kedge.controller.check import Finding, check_store
from kedge.controller.model.host import LeaderAndIsrRequest, UpdateMetadataRequest
from kedge.controller.rig.committed import CommittedTree
from kedge.controller.rig.invariants import Invariants
from kedge.controller.rig.node import Node
from kedge.controller.rig.operators import Operators
from kedge.controller.rig.parts import Parts
from kedge.controller.rig.producers import Producers
from kedge.controller.rig.waits import disagreements
from kedge.controller.runtime.clock import SystemClock
from kedge.controller.runtime.registrar import Registrar
from kedge.controller.simulated.agent import BrokerAgent
from kedge.controller.simulated.broker import Broker
from kedge.controller.simulated.clock import NodeClock, VirtualClock
from kedge.controller.simulated.copying import Copying
from kedge.controller.simulated.network import Network
from kedge.controller.simulated.registration import Registration
from kedge.controller.simulated.replica import Replica
from kedge.controller.simulated.timeline import Timeline
from kedge.stores import MetadataStore, open_store
from tests.real.messages import Call, Request, Return
from tests.real.remote import RemoteNode, Seat, speaking
from tests.real.served import Witnessed
from tests.real.witness import Shadow
from tests.real.writes import Written

STEP_S: Final = 0.01
WAIT_S: Final = 60.0
CALL_S: Final = 10.0
LOOK_S: Final = 0.3
LAG_MS: Final = 30_000
RECORD_BYTES: Final = 100


@attrs.define(eq=False)
class StoreRegistration(Registration):
    """Of a broker that registers with a real store."""

    store: MetadataStore = attrs.field(kw_only=True)

    def begin(self, broker: BrokerRegistration) -> int:
        self._registrar = Registrar(self.store, SystemClock(), self.version, CALL_S)
        return self._registrar.register(broker)

    def end(self, *, at_once: bool) -> None:  # noqa: ARG002 - it ends its session, there is no other way here
        if self._registrar is not None:
            self._registrar.close()
        self._registrar = None


class HeldCopying(Copying):
    """Fetches, but for followers that would join a partition which is held back."""

    held: set[TopicPartition]

    def _leader_of(self, replica: Replica) -> Replica | None:
        leader = super()._leader_of(replica)
        if leader is None or replica.broker in leader.isr:
            return leader
        return None if TopicPartition(replica.topic, replica.partition) in self.held else leader


class Cluster(Parts):
    """`controllers` processes and `brokers`, on what `served` serves. `session_s`: of the controllers; brokers have
    longer ones. `first_seat`: where the first controller runs, which leads in the beginning then."""

    def __init__(
        self,
        served: Witnessed,
        folder: Path,
        *,
        controllers: int = 2,
        brokers: int = 4,
        session_s: float,
        broker_session_s: float = 30.0,
        first_seat: Seat | None = None,
    ) -> None:
        self.seed, self.chance = 1, random.Random(1)
        self.clock = VirtualClock()
        self.tick_ms, self.lag_max_ms, self.record_bytes = int(STEP_S * 1000), LAG_MS, RECORD_BYTES
        self.settings = Settings()
        self.timeline = Timeline(self.clock)
        self.timeline.is_mute = True
        self.server = self.shadow = Shadow()
        self.committed = CommittedTree(self.timeline)
        self.asked_targets = {}
        self.broken_keys, self.foreign_fields = {}, {}
        self.operators = Operators()
        self.quiet_steps, self.has_old_versions = 0, False
        self.served = served
        self.store = open_store(served.url(broker_session_s))
        self.brokers = {}
        self.network = Network(self.brokers, self.chance, self.timeline, lambda: self.server.revision)
        self.copying = self._copying = HeldCopying(self.brokers, self.timeline)
        self._copying.held = set()
        self.producers = Producers(self.brokers, self.clock)
        self.invariants = Invariants(self, enabled=True)
        seats = [first_seat] if first_seat is not None else []
        seats += [Seat(served.url(session_s))] * (controllers - len(seats))
        self._has_first = first_seat is not None
        self.remotes = {
            number: RemoteNode(number, seat, folder / f"{number}.log") for number, seat in enumerate(seats, 101)
        }
        self.nodes = cast("dict[int, Node]", self.remotes)
        self.duties = {}
        self.calls: list[Request] = []
        self._notes: list[Callable[[Written], None]] = []
        self._began_s = time.monotonic()
        for broker_id in range(1, brokers + 1):
            self._add(broker_id)

    def __enter__(self) -> Self:
        for duties in self.duties.values():
            duties.register()
        for node in self.remotes.values():
            node.start()
            if self._has_first:
                self.until(lambda: self.active is not None, "the first controller leads")
        self.until(lambda: self.active is not None, "a controller leads")
        self.until(lambda: all(node.has_begun for node in self.remotes.values()), "all controllers run")
        return self

    def __exit__(self, *_: object) -> None:
        for node in self.remotes.values():
            node.kill()
        with contextlib.suppress(Exception):
            for duties in self.duties.values():
                duties.leave(at_once=True)
        self.store.close()

    def _add(self, broker_id: int) -> None:
        broker = Broker(BrokerRegistration(broker_id, f"broker-{broker_id}"), NodeClock(self.clock))
        self.brokers[broker_id] = broker
        version = self.settings.registration_version
        own = StoreRegistration(
            f"broker {broker_id}", broker.clock, self.server, self.timeline, version, store=self.store
        )
        parts = (self.clock, self.remotes, self.network, self.timeline, LAG_MS)
        self.duties[broker_id] = BrokerAgent(broker, own, *parts, self.invariants.partitions.proposed)

    # --- time

    def step(self) -> bool:
        """What was said is heard, and brokers do their work once."""
        running = [node for node in self.remotes.values() if node.process is not None and not node.is_paused]
        for node in speaking(running, STEP_S):
            for call in node.hear():
                node.answer(Return(call.number, self._called(call)))
        ms = int((time.monotonic() - self._began_s) * 1000) - self.clock.elapsed_ms
        self.clock.advance(ms)
        self.copying.step(ms)
        for duties in self.duties.values():
            duties.watch()
            duties.step()
        self.producers.step(ms)
        return True

    def until(self, condition: Callable[[], object], what: str = "", timeout_s: float = WAIT_S) -> None:
        """`condition()` is true. AssertionError at the deadline."""
        deadline_s = time.monotonic() + timeout_s
        while not condition():
            if time.monotonic() >= deadline_s:
                nodes = {n.node_id: (n.state.value, n.is_active) for n in self.remotes.values()}
                raise AssertionError(f"not within {timeout_s} s: {what}; controllers {nodes}; logs:\n{self._logs()}")
            self.step()

    def while_working(self, does: Callable[[], object], what: str) -> None:
        """`does` is done, in a thread of its own, and all work on meanwhile."""
        with ThreadPoolExecutor(1) as pool:
            future = pool.submit(does)
            self.until(future.done, what)
            future.result()

    def _called(self, call: Call) -> HostResponse:
        request = call.request
        self.calls.append(request)
        broker = self.brokers[request.broker_id]
        if isinstance(request, LeaderAndIsrRequest):
            return broker.leader_and_isr(request)
        if isinstance(request, UpdateMetadataRequest):
            return broker.update_metadata(request)
        return broker.stop_replica(request)

    def _logs(self) -> str:
        return "\n".join(node.log_tail() for node in self.remotes.values())

    # --- controllers

    @property
    def leader_node(self) -> RemoteNode:
        """The one that leads; there must be one."""
        assert self.active is not None
        return self.remotes[self.active.node_id]

    @property
    def epoch(self) -> int:
        """Under which the controller leads."""
        controller = self.leader_node.controller
        assert controller is not None
        assert controller.controller_epoch is not None
        return controller.controller_epoch

    def send(self, method: str, *arguments: object, **options: object) -> Future[Any]:
        """Ask the active controller once."""
        self.until(lambda: self.active is not None, "a controller leads")
        controller = self.leader_node.controller
        assert controller is not None
        return controller.ask(method, *arguments, **options)

    def ask(self, method: str, *arguments: object, **options: object) -> Any:
        """What the active controller answers; one that died or was deposed before it answered is followed by the next
        one, as a client does."""
        while True:
            future = self.send(method, *arguments, **options)
            self._until_answered(future, self.leader_node, method)
            if future.done() and not isinstance(future.exception(), NotController):
                found = future.result()
                refused = [e for e in found.values() if isinstance(e, NotController)] if isinstance(found, dict) else []
                if not refused:
                    return found

    def _until_answered(self, future: Future[Any], node: RemoteNode, method: str) -> None:
        process = node.process
        self.until(lambda: future.done() or node.process is not process or not node.is_active, f"an answer to {method}")

    def create_topic(self, name: str, replicas: Sequence[Sequence[int]], records: int) -> list[TopicPartition]:
        """A topic, led, with records that are acknowledged in each partition."""
        found = self.ask("create_topics", {name: NewTopic(-1, -1, replicas)})
        assert not isinstance(found[name], Exception), found
        tps = [TopicPartition(name, number) for number in range(len(replicas))]
        self.until(lambda: all(self.leader(tp) is not None for tp in tps), f"{name} is led")
        for tp in tps:
            assert self.producers.write(tp, records, RECORD_BYTES) == records
        self.until(lambda: self.producers.waiting == 0, "the records are acknowledged")
        return tps

    def reassign(self, targets: Mapping[TopicPartition, Sequence[int] | None]) -> None:
        """All targets are accepted, by the active controller."""
        self.note({tp: target for tp, target in targets.items() if target is not None})
        answers = self.ask("alter_partition_reassignments", dict(targets))
        refused = {tp: answer for tp, answer in answers.items() if isinstance(answer, ApiError)}
        assert not refused, refused

    def note(self, targets: Mapping[TopicPartition, Sequence[int]]) -> None:
        """These targets are asked for: what the invariants hold targets against."""
        for tp, target in targets.items():
            self.asked_targets.setdefault(tp, set()).add(tuple(target))

    def hold_back(self, tps: Iterable[TopicPartition]) -> None:
        self._copying.held |= set(tps)

    def let_go(self, tps: Iterable[TopicPartition]) -> None:
        self._copying.held -= set(tps)

    def deleted(self) -> int:
        """How many replicas brokers deleted so far, as they were ordered."""
        return sum(len(broker.deleted) for broker in self.brokers.values())

    # --- what stands

    def look(self) -> None:
        """Take in what the server wrote down since the last look; raises InvariantBroken for what must not be."""
        for transaction in self.served.log.new():
            for note in self._notes:
                for write in transaction.writes:
                    if isinstance(write, Written):
                        note(write)
            self.shadow.take_in(transaction)
            self.invariants.step()

    def note_writes(self, note: Callable[[Written], None]) -> None:
        """`note` is called with whatever is written, once it is looked at."""
        self._notes.append(note)

    def settled(self, targets: Mapping[TopicPartition, Sequence[int]]) -> bool:
        """Whether each partition has just these replicas and does not move, as the active controller knows it."""
        self.look()
        found = [(self.committed.partitions.get(tp), tuple(target)) for tp, target in targets.items()]
        return all(one is not None and one.replicas == target and one.move is None for one, target in found)

    def until_settled(self, targets: Mapping[TopicPartition, Sequence[int]]) -> None:
        """Each partition has just these replicas, and does not move."""
        self.until(_now_and_then(lambda: self.settled(targets)), "every move is complete")

    def findings(self) -> tuple[Finding, ...]:
        """By `kedge store audit`, once this client is in contact again."""
        self.until(lambda: self.store.session.connected, "contact with the store")
        return check_store(self.store, timeout_s=CALL_S).at_least("warning")

    def until_converged(self) -> None:
        """The brokers know and hold what the server wrote down, nothing is left to do, and no rule of the rig was
        broken on the way by any version of any key."""

        def agreed() -> bool:
            self.look()
            return not disagreements(self)

        try:
            self.until(_now_and_then(lambda: not self._has_work() and agreed()), "all agree")
        except AssertionError as error:
            raise AssertionError(f"{error}\n{disagreements(self)[:10]}") from error
        self.invariants.end()

    def _has_work(self) -> bool:
        return self.active is None or any(duties.is_asking for duties in self.duties.values())


def _now_and_then(condition: Callable[[], bool]) -> Callable[[], bool]:
    """The condition, which takes a while to look at, looked at every `LOOK_S`."""
    next_s = [0.0]

    def looked() -> bool:
        if time.monotonic() < next_s[0]:
            return False
        found = condition()
        next_s[0] = time.monotonic() + LOOK_S
        return found

    return looked
