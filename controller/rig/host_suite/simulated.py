"""The rig's own brokers as a host under test: careful brokers that copy bytes, in virtual time. Only the binding is for
the suite, so it can be read as an example of one."""

from __future__ import annotations

import random
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import cast

import attrs

from ...model.host import (
    Host,
    HostResponse,
    LeaderAndIsrRequest,
    PartitionMetadata,
    StopReplicaRequest,
    UpdateMetadataRequest,
)
from ...model.values import TARGETS_SINCE, BrokerRegistration, TopicPartition
from ...simulated.agent import BrokerAgent
from ...simulated.broker import Broker, Life
from ...simulated.clock import NodeClock, VirtualClock
from ...simulated.copying import Copying
from ...simulated.network import Network
from ...simulated.node import Asked, ControllerNode, ShutsDown
from ...simulated.registration import Registration
from ...simulated.timeline import Timeline
from ..hosted.isr_calls import IsrUpdater
from ..hosted.under_test import Ability, Contents, Held, HostUnderTest
from ..server import RecordingServer

LAG_MAX_MS = 2_000
RECORD_BYTES = 100


class SimulatedBrokers(HostUnderTest):
    """`kind`: the class of the brokers. `is_strict`: they answer 56 wherever a log is missing that is not new.
    `leader_and_isr_version`: below 3 they know no targets."""

    name = "the rig's brokers"
    wait_ms = 30_000

    def __init__(
        self, kind: type[Broker] = Broker, *, is_strict: bool = True, leader_and_isr_version: int = TARGETS_SINCE
    ) -> None:
        missing = set() if is_strict else {Ability.STRICT}
        missing |= set() if leader_and_isr_version >= TARGETS_SINCE else {Ability.TARGETS}
        self.abilities = frozenset(Ability) - missing
        self.leader_and_isr_version = leader_and_isr_version
        self._kind = kind
        self._is_strict = is_strict
        self.clock: VirtualClock = VirtualClock()
        self._timeline = Timeline(self.clock)
        self._server = RecordingServer(clock=self.clock.monotonic_s)
        self._brokers: dict[int, Broker] = {}
        self._network = Network(self._brokers, random.Random(1), self._timeline, lambda: 0)  # noqa: S311 - repeatable
        self._copying = Copying(self._brokers, self._timeline)
        self._nodes: dict[int, ControllerNode] = {}
        self._duties: dict[int, BrokerAgent] = {}
        self._failing: set[int] = set()
        self._records = 0

    # --- brokers

    def open(self, broker_ids: Sequence[int]) -> Host:
        """As HostUnderTest."""
        for broker_id in broker_ids:
            registration = BrokerRegistration(broker_id, leader_and_isr_version=self.leader_and_isr_version)
            broker = self._kind(registration, NodeClock(self.clock), is_strict=self._is_strict)
            self._brokers[broker_id] = broker
            own = Registration(f"broker {broker_id}", broker.clock, self._server, self._timeline, 5)
            parts = (self.clock, self._nodes, self._network, self._timeline, LAG_MAX_MS)
            self._duties[broker_id] = BrokerAgent(broker, own, *parts, lambda _, __: None)
        return self

    def close(self) -> None:
        """As HostUnderTest; there are no threads to stop."""
        self._server.close()

    def registered(self, broker_id: int, epoch: int) -> None:
        """As HostUnderTest."""
        self._brokers[broker_id].epoch = epoch

    def restart(self, broker_id: int) -> None:
        """As HostUnderTest."""
        self._duties[broker_id].leave(at_once=True)
        self._brokers[broker_id].stopped()
        self._brokers[broker_id].life = Life.UP

    def lose_disk(self, broker_id: int, tp: TopicPartition) -> None:
        """As HostUnderTest."""
        self._brokers[broker_id].disk_failed(tp)

    def replace_disk(self, broker_id: int) -> None:
        """As HostUnderTest: a broker finds its new disk at its start."""
        self.restart(broker_id)

    # --- callbacks

    def leader_and_isr(self, request: LeaderAndIsrRequest) -> HostResponse:
        """As `kedge.controller.model.host.Host`."""
        return self.broker_of(request.broker_id).leader_and_isr(request)

    def update_metadata(self, request: UpdateMetadataRequest) -> HostResponse:
        """As `kedge.controller.model.host.Host`."""
        return self.broker_of(request.broker_id).update_metadata(request)

    def stop_replica(self, request: StopReplicaRequest) -> HostResponse:
        """As `kedge.controller.model.host.Host`."""
        return self.broker_of(request.broker_id).stop_replica(request)

    def broker_of(self, broker_id: int) -> Broker:
        """The broker of a callback; raises after `fail_next`."""
        if broker_id in self._failing:
            self._failing.remove(broker_id)
            raise ConnectionError(f"injected: a callback of broker {broker_id} fails")
        return self._brokers[broker_id]

    # --- its own actions

    def pass_time(self, ms: int) -> None:
        """Followers copy, leaders take answers and request isr changes."""
        self.clock.advance(ms)
        self._copying.step(ms)
        for duties in self._duties.values():
            duties.step()

    def append(self, broker_id: int, tp: TopicPartition, records: int) -> int:
        """As HostUnderTest."""
        replica = self._brokers[broker_id].replica(tp)
        if replica is None or self._brokers[broker_id].refuses_produce(tp):
            return 0
        replica.append(records, self._records, RECORD_BYTES)
        self._records += records
        return records

    def use(self, updater: IsrUpdater) -> None:
        """As HostUnderTest: to the brokers the updater is a controller node that is up."""
        self._nodes[101] = _Node(updater)

    # --- inspection

    def held(self, broker_id: int, tp: TopicPartition, topic_id: str) -> Held | None:
        """As HostUnderTest."""
        found = self._brokers[broker_id].replicas.get((topic_id, tp.partition))
        if found is None or found.topic != tp.topic:
            return None
        return Held(found.role, found.leader, found.leader_epoch, found.isr, found.log.end_offset)

    def read(self, broker_id: int, tp: TopicPartition, topic_id: str) -> Contents:
        """As HostUnderTest: a record is its id."""
        log = self._brokers[broker_id].replicas[topic_id, tp.partition].log
        ids = [run.first_id + number for run in log.runs for number in range(run.count)]
        return Contents(ids, log.high_watermark)

    def known(self, broker_id: int, tp: TopicPartition) -> PartitionMetadata | None:
        """As HostUnderTest."""
        return self._brokers[broker_id].metadata.get(tp)

    def fail_next(self, broker_id: int) -> None:
        """As HostUnderTest."""
        self._failing.add(broker_id)


@attrs.frozen
class _Node:
    """The controller of the brokers: `updater` is all that there is of it."""

    updater: IsrUpdater
    node_id: int = 101
    is_up: bool = True
    is_told: bool = False
    controller: ShutsDown | None = None

    @property
    def process(self) -> object:
        return self.updater

    @property
    def asked(self) -> Asked:
        return cast(Asked, self.updater)

    def speaking(self) -> AbstractContextManager[None]:
        return nullcontext()
