"""Real controllers over a memory store that drive the host under test, and the differences of brokers and store.

Brokers are registered over their own sessions, so that the end of a controller does not end them. Where leaders do not
request isr changes themselves (no Ability.ISR) the cluster does so for them, for every live replica and target.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Final, TypeVar

from ....stores.memory import MemoryStore
from ...host import Controller
from ...model.errors import NotController
from ...model.host import HostResponse, LeaderAndIsrRequest, StopReplicaRequest, UpdateMetadataRequest
from ...model.requests import AcceptedIsr, NewTopic
from ...model.values import NO_LEADER, BrokerRegistration, Partition, TopicPartition
from ...runtime.registrar import Registrar
from ...simulated.clock import VirtualClock
from ...simulated.replica import Role
from ...simulated.timeline import Timeline
from ..committed import CommittedTree
from ..server import RecordingServer
from .base import Ability, HostUnderTest, expect
from .desk import Asked
from .stage import BROKERS, Request, Stage, legal

T = TypeVar("T")
PASSES_MAX: Final = 1000  # of a controller's loop, per ten milliseconds


class Checking:
    """The host as a controller calls it. `requests`: all requests; `illegal`: answers that a controller does not
    accept."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self.requests: list[Request] = []
        self.illegal: list[str] = []

    def leader_and_isr(self, request: LeaderAndIsrRequest) -> HostResponse:
        """Passed on to the host."""
        return self._checked(request, self._stage.callbacks.leader_and_isr(request))

    def update_metadata(self, request: UpdateMetadataRequest) -> HostResponse:
        """Passed on to the host."""
        return self._checked(request, self._stage.callbacks.update_metadata(request))

    def stop_replica(self, request: StopReplicaRequest) -> HostResponse:
        """Passed on to the host."""
        return self._checked(request, self._stage.callbacks.stop_replica(request))

    def deliver(self, request: Request) -> HostResponse:
        """Pass on any of the three requests."""
        if isinstance(request, LeaderAndIsrRequest):
            return self.leader_and_isr(request)
        if isinstance(request, UpdateMetadataRequest):
            return self.update_metadata(request)
        return self.stop_replica(request)

    def _checked(self, request: Request, response: HostResponse) -> HostResponse:
        self.requests.append(request)
        try:
            return legal(request, response)
        except AssertionError as error:
            self.illegal.append(str(error))
            raise


class Cluster:
    """The brokers 1, 2 and 3 of a host, registered in a store, and the controllers that were started on it."""

    def __init__(self, host: HostUnderTest) -> None:
        self.host = host
        self.stage = Stage(host)
        self.stage.desk.pass_on = self._pass_on
        self.stage.steps += [self._poll, self._ask_for_leaders]
        self.checking = Checking(self.stage)
        self.server = RecordingServer(clock=host.clock.monotonic_s)
        self.controllers: dict[int, Controller] = {}
        self._stores: list[MemoryStore] = []
        self._registrars: dict[int, Registrar] = {}
        self._asked: dict[TopicPartition, Future[AcceptedIsr]] = {}
        for broker in BROKERS:
            self.register(broker)
        self.start(101)

    # --- controllers

    def start(self, node_id: int) -> None:
        """Start a new controller; the first one leads."""
        controller = Controller(
            self._store(), node_id, self.checking, clock=self.host.clock, seed=f"host_suite/{node_id}"
        )
        self.controllers[node_id] = controller

    def hand_over(self) -> None:
        """Stop the controller that leads; the other one takes over."""
        leading = self.leading
        del self.controllers[leading[0]]
        leading[1].close()
        self.stage.eventually("the other controller leads", lambda: self._active is not None)

    def close(self) -> None:
        """Close all that was opened here."""
        for controller in self.controllers.values():
            controller.close()
        for registrar in self._registrars.values():
            registrar.close()
        for store in self._stores:
            store.close()
        self.server.close()

    @property
    def _active(self) -> tuple[int, Controller] | None:
        return next(((i, one) for i, one in self.controllers.items() if one.is_active), None)

    @property
    def leading(self) -> tuple[int, Controller]:
        """Node id and controller of the leader; waits for one."""
        self.stage.eventually("a controller leads", lambda: self._active is not None)
        assert self._active is not None
        return self._active

    def _store(self) -> MemoryStore:
        store = MemoryStore(self.server)
        self._stores.append(store)
        return store

    def _poll(self) -> None:
        for controller in list(self.controllers.values()):
            for _ in range(PASSES_MAX):
                if not controller.poll_once(0):
                    break

    # --- brokers

    def register(self, broker: int) -> None:
        """Register the broker, again if it was registered before; the broker knows its epoch."""
        if broker in self._registrars:
            self._registrars[broker].close()
        self._registrars[broker] = registrar = Registrar(self._store(), self.host.clock, 5, 10.0)
        registration = BrokerRegistration(broker, leader_and_isr_version=self.host.leader_and_isr_version)
        self.stage.register(broker, registrar.register(registration))

    def _pass_on(self, asked: Asked) -> Future[AcceptedIsr]:
        active = self._active
        if active is None:
            asked.refuse(NotController("there is no active controller", None))
            return asked.future
        return active[1].alter_isr(asked.tp, asked.leader, *asked.epochs[:2], asked.isr, asked.broker_epoch)

    def _ask_for_leaders(self) -> None:
        if Ability.ISR in self.host.abilities or self._active is None:
            return
        for tp, p in self.tree().partitions.items():
            waits = tp in self._asked and not self._asked[tp].done()
            wanted = (*p.isr, *(b for b in p.members if b not in p.isr and self._follows(b, p)))
            if p.leader != NO_LEADER and wanted != p.isr and not waits:
                epoch = self.tree().partition_epochs[tp]
                registered = self.stage.broker_epochs[p.leader]
                self._asked[tp] = self._active[1].alter_isr(tp, p.leader, p.leader_epoch, epoch, wanted, registered)

    def _follows(self, broker: int, p: Partition) -> bool:
        held = self.host.held(broker, p.tp, self.topic_id(p.tp))
        return held is not None and (held.role, held.leader_epoch) == (Role.FOLLOWER, p.leader_epoch)

    # --- requests

    def wait(self, future: Future[T]) -> T:
        """The result of the future; raises what the future raises."""
        self.stage.eventually("the controller answers", future.done)
        return future.result()

    def create(self, topic: str, replicas: Sequence[Sequence[int]]) -> list[TopicPartition]:
        """Create a topic; returns its partitions."""
        self.wait(self.leading[1].admin.create_topics({topic: NewTopic(-1, -1, replicas)}).all())
        return [TopicPartition(topic, number) for number in range(len(replicas))]

    def reassign(self, tp: TopicPartition, target: Sequence[int]) -> None:
        """Request a move, which is accepted."""
        self.wait(self.leading[1].admin.alter_partition_reassignments({tp: target}).all())

    def tree(self) -> CommittedTree:
        """The present committed state."""
        tree = CommittedTree(Timeline(VirtualClock()))
        tree.load(self.server)
        return tree

    def topic_id(self, tp: TopicPartition) -> str:
        """The id of an existing topic."""
        topic = self.tree().topic(tp.topic)
        assert topic is not None
        return topic.topic_id

    # --- the end

    def converges(self, also: Callable[[CommittedTree], object] = lambda _: True) -> None:
        """Wait until the brokers agree with the committed state, for which `also` is true; all answers were legal."""
        seen: list[str] = []

        def agree() -> bool:
            seen[:] = self.differences(also)
            return not seen

        def instead() -> str:
            active = self._active
            findings = {} if active is None else dict(active[1].describe().findings)
            return f"{seen[:10]}; the controller's findings are {findings}"

        self.stage.eventually("the brokers agree with the committed state", agree, instead)
        expect("answers that a controller does not accept", self.checking.illegal, [])

    def differences(self, also: Callable[[CommittedTree], object]) -> list[str]:
        """Where store and brokers differ, one line each."""
        tree = self.tree()
        found = [] if also(tree) else [f"not reached yet: {list(tree.partitions.values())}"]
        found += [f"to be deleted: {intent}" for intents in tree.intents.values() for intent in intents]
        for p in tree.partitions.values():
            found += [line for broker in BROKERS if (line := self._differs(broker, p))]
        return found

    def _differs(self, broker: int, p: Partition) -> str | None:
        held = self.host.held(broker, p.tp, self.topic_id(p.tp))
        if broker not in p.members:
            return None if held is None else f"broker {broker} has {p.tp}, of which it is no member: {held}"
        if held is None:
            return f"broker {broker} has no log of {p.tp}"
        role = Role.LEADER if broker == p.leader else Role.FOLLOWER
        if (held.role, held.leader, held.leader_epoch) != (role, p.leader, p.leader_epoch):
            return f"broker {broker} has {held}, committed is {p}"
        if role is Role.LEADER and set(held.isr) != set(p.isr) and Ability.ISR in self.host.abilities:
            return f"broker {broker} leads {p.tp} with the isr {held.isr}, committed is {p.isr}"
        return None
