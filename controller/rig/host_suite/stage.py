"""Three brokers of a host under test, and the functions with which cases send requests and check answers.

Every answer must be one that a controller accepts: a `HostResponse`; an error of the whole, or codes with the names of
partitions in the request.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import attrs

from ...model.errors import ErrorCode
from ...model.host import (
    HostResponse,
    LeaderAndIsrPartition,
    LeaderAndIsrRequest,
    LivePeer,
    PartitionMetadata,
    StopReplicaPartition,
    StopReplicaRequest,
    UpdateMetadataRequest,
)
from ...model.values import TopicPartition
from ..hosted.answers import legal
from ..hosted.isr_calls import IsrCalls
from ..hosted.under_test import Ability, Held, HostUnderTest
from .base import expect

BROKERS: Final = (1, 2, 3)
CONTROLLER_EPOCH: Final = 7
LEADER_EPOCH: Final = 5
PARTITION_EPOCH: Final = 9
TP: Final = TopicPartition("orders", 0)
SECOND: Final = TopicPartition("orders", 1)
TOPIC_ID: Final = "AAAAAAAAQACAAAAAAAAAAQ"  # UUIDs in Kafka's form
OTHER_ID: Final = "AAAAAAAAQACAAAAAAAAAAg"
PEERS: Final = tuple(LivePeer(broker, f"broker-{broker}", 9092, None) for broker in BROKERS)

SAID: Final = LeaderAndIsrPartition(
    TP.topic,
    TOPIC_ID,
    TP.partition,
    leader=1,
    leader_epoch=LEADER_EPOCH,
    isr=BROKERS,
    partition_epoch=PARTITION_EPOCH,
    replicas=BROKERS,
    target_replicas=None,
    is_new=True,
    status_code=0,
    leader_recovery_state=0,
)
"""`orders-0` on 1, 2 and 3, all in sync, led by 1: the default of the requests."""


def said(tp: TopicPartition = TP, /, **changes: Any) -> LeaderAndIsrPartition:
    """`SAID`, with these changes."""
    return attrs.evolve(SAID, topic=tp.topic, partition=tp.partition, **changes)


def metadata(**changes: Any) -> PartitionMetadata:
    told = PartitionMetadata(
        TP.topic, TOPIC_ID, TP.partition, 1, LEADER_EPOCH, BROKERS, PARTITION_EPOCH, BROKERS, (), 0
    )
    return attrs.evolve(told, **changes)


def deletion(leader_epoch: int = LEADER_EPOCH + 1, /, **changes: Any) -> StopReplicaPartition:
    """A deletion of `orders-0`, by default under the leader epoch after that of `SAID`."""
    return attrs.evolve(StopReplicaPartition(TP.topic, TOPIC_ID, TP.partition, leader_epoch, delete=True), **changes)


class Stage:
    """Opens the brokers 1, 2 and 3, registered under the epochs 11, 12 and 13; the controller epoch is 7."""

    def __init__(self, host: HostUnderTest) -> None:
        self.host = host
        self.callbacks = host.open(BROKERS)
        self.updater = IsrCalls()
        self.broker_epochs: dict[int, int] = {}
        if Ability.ISR in host.abilities:
            host.use(self.updater)
        for broker in BROKERS:
            self.register(broker, 10 + broker)

    def register(self, broker: int, epoch: int) -> None:
        self.broker_epochs[broker] = epoch
        self.host.registered(broker, epoch)

    # --- callbacks

    def tell(
        self, broker: int, *partitions: LeaderAndIsrPartition, full: bool = False, **header: Any
    ) -> dict[TopicPartition, int]:
        """Send a LeaderAndIsr that must be obeyed; returns the errors of its partitions."""
        return self.obeyed(self.leader_and_isr(broker, *partitions, full=full, **header))

    def inform(self, broker: int, *partitions: PartitionMetadata, full: bool = False, **header: Any) -> None:
        """Send an UpdateMetadata that must be obeyed."""
        self.obeyed(self.update_metadata(broker, *partitions, full=full, **header))

    def stop(self, broker: int, *partitions: StopReplicaPartition, **header: Any) -> dict[TopicPartition, int]:
        """Send a StopReplica that must be obeyed; returns the errors of its partitions."""
        return self.obeyed(self.stop_replica(broker, *partitions, **header))

    def delete(self, broker: int, told: StopReplicaPartition) -> None:
        """Send a deletion until it is acknowledged, as the controller does."""
        codes: dict[TopicPartition, int] = {}

        def acknowledged() -> bool:
            nonlocal codes
            codes = self.stop(broker, told)
            return not codes

        self.eventually(f"broker {broker} acknowledges {told}", acknowledged, lambda: codes)

    def obeyed(self, response: HostResponse) -> dict[TopicPartition, int]:
        """Check that the request was not refused as a whole; returns the errors of its partitions."""
        expect("the error of the whole request", response.error, ErrorCode.NONE)
        return {tp: code for tp, code in response.errors.items() if code != ErrorCode.NONE}

    def leader_and_isr(
        self, broker: int, *partitions: LeaderAndIsrPartition, full: bool = False, **header: Any
    ) -> HostResponse:
        request = attrs.evolve(
            LeaderAndIsrRequest(broker, self.broker_epochs[broker], 101, CONTROLLER_EPOCH, full, partitions, PEERS),
            **header,
        )
        return legal(request, self.callbacks.leader_and_isr(request))

    def update_metadata(
        self, broker: int, *partitions: PartitionMetadata, full: bool = False, **header: Any
    ) -> HostResponse:
        request = attrs.evolve(
            UpdateMetadataRequest(broker, self.broker_epochs[broker], 101, CONTROLLER_EPOCH, full, PEERS, partitions),
            **header,
        )
        return legal(request, self.callbacks.update_metadata(request))

    def stop_replica(self, broker: int, *partitions: StopReplicaPartition, **header: Any) -> HostResponse:
        request = attrs.evolve(
            StopReplicaRequest(broker, self.broker_epochs[broker], 101, CONTROLLER_EPOCH, partitions), **header
        )
        return legal(request, self.callbacks.stop_replica(request))

    # --- inspection

    def held(self, broker: int, tp: TopicPartition = TP, topic_id: str = TOPIC_ID) -> Held | None:
        found = self.host.held(broker, tp, topic_id)
        assert found is None or isinstance(found, Held), f"held(): expected a Held or None, got {found!r:.200}"
        return found

    def holds(self, broker: int, tp: TopicPartition = TP, topic_id: str = TOPIC_ID) -> Held:
        """The replica of a broker that must have a log of it."""
        found = self.held(broker, tp, topic_id)
        assert found is not None, f"broker {broker}: expected a log of {tp} with the topic id {topic_id}, got none"
        return found

    def eventually(self, what: str, holds: Callable[[], object], seen: Callable[[], object] | None = None) -> None:
        """Wait until `holds()`; fail at the deadline with the condition `what`, and what is `seen` instead."""
        passed_ms = 0
        while not holds():
            if passed_ms >= self.host.wait_ms:
                got = "" if seen is None else f", got {seen()}"
                raise AssertionError(f"{self.host.name}: expected within {passed_ms} ms: {what}{got}")
            passed_ms += self.step()

    def becomes(self, broker: int, what: str, holds: Callable[[Held], object], tp: TopicPartition = TP) -> Held:
        """Wait until the broker has a replica for which `holds`; returns the replica."""

        def reached() -> bool:
            found = self.held(broker, tp)
            return found is not None and bool(holds(found))

        self.eventually(f"broker {broker}, {tp}: {what}", reached, lambda: self.held(broker, tp))
        return self.holds(broker, tp)

    def quiet(self, times: int = 1) -> None:
        """Wait until the host has done all that its requests can still cause."""
        passed_ms = 0
        while passed_ms < self.host.quiet_ms * times:
            passed_ms += self.step()

    def step(self) -> int:
        """Let ten milliseconds pass; returns their number."""
        self.host.pass_time(10)
        return 10

    def stays(self, broker: int, tp: TopicPartition = TP) -> Held:
        """The replica once all is quiet, which must exist."""
        self.quiet()
        return self.holds(broker, tp)
