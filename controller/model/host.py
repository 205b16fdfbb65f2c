"""The host's side of the callbacks: the Protocol that a broker or a rig implements, and what it is handed.

Calls come one at a time per broker, outside the loop thread. An exception means "not delivered": the broker stays dirty
and is tried again. A receiver drops what carries an older controller, broker or leader epoch, or another topic_id; so
calls may be repeated, reordered and lost without harm.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, runtime_checkable

import attrs

from controller.model.errors import ErrorCode
from controller.model.frozen import NOTHING, frozen_dict, sealed
from controller.model.values import Endpoint, Replicas, TopicPartition


@sealed
class LivePeer:
    """A live broker as others are told of it."""

    broker_id: int
    host: str
    port: int
    rack: str | None
    endpoints: tuple[Endpoint, ...] = ()


@sealed
class LeaderAndIsrPartition:
    """What one replica has to know. `target_replicas` None: not moving, or the broker declared a LeaderAndIsr version
    below 3. `is_new`: the broker may make an empty log (it is not in I, so nobody relies on what it holds, or the
    partition still has the leader epoch it was created with, or it has not answered yet for a partition that was
    created in this term); otherwise a broker without one answers KAFKA_STORAGE_ERROR. `leader_recovery_state` 1: the
    leader was elected uncleanly and recovers, alone in its isr, until its `alter_isr` says 0. `status_code` (KIP-694)
    -1: the leader takes no records from producers; 1: nobody serves it, and no log is made for it."""

    topic: str
    topic_id: str
    partition: int
    leader: int
    leader_epoch: int
    isr: Replicas
    partition_epoch: int
    replicas: Replicas
    target_replicas: Replicas | None
    is_new: bool
    status_code: int
    leader_recovery_state: int


@sealed
class LeaderAndIsrRequest:
    """`full`: what is not named stops serving (and is never deleted: only stop_replica deletes)."""

    broker_id: int
    broker_epoch: int
    controller_id: int
    controller_epoch: int
    full: bool
    partitions: tuple[LeaderAndIsrPartition, ...]
    live_leaders: tuple[LivePeer, ...]


@sealed
class StopReplicaPartition:
    """A replica that stops; `delete`: its log goes, too."""

    topic: str
    topic_id: str
    partition: int
    leader_epoch: int
    delete: bool


@sealed
class StopReplicaRequest:
    """Each partition that went well is acknowledged by an answer that does not name it."""

    broker_id: int
    broker_epoch: int
    controller_id: int
    controller_epoch: int
    partitions: tuple[StopReplicaPartition, ...]


@sealed
class PartitionMetadata:
    """What everybody may know of a partition. `leader` -1: none; -2: its topic is being deleted, or it was deleted by a
    reduction. `status_code` (KIP-694) 0: online; -1: read-only; 1: offline, so that clients are not told of it."""

    topic: str
    topic_id: str
    partition: int
    leader: int
    leader_epoch: int
    isr: Replicas
    partition_epoch: int
    replicas: Replicas
    offline_replicas: Replicas
    status_code: int


@sealed
class UpdateMetadataRequest:
    """`full`: what is not named is gone."""

    broker_id: int
    broker_epoch: int
    controller_id: int
    controller_epoch: int
    full: bool
    live_brokers: tuple[LivePeer, ...]
    partitions: tuple[PartitionMetadata, ...]


def _as_errors(errors: Mapping[TopicPartition, ErrorCode]) -> Mapping[TopicPartition, ErrorCode]:
    return frozen_dict(errors)


@sealed
class HostResponse:
    """`error`: for the request as a whole (STALE_CONTROLLER_EPOCH, STALE_BROKER_EPOCH). `errors`: partitions that did
    not go well; KAFKA_STORAGE_ERROR = this broker's disk for it is gone. A partition that is not named went well.

    Codes may be plain ints. An answer whose `errors` has a key that is no TopicPartition, a partition that the request
    did not name, or a code that is no int, counts as "not delivered" as a whole: a refused deletion under a misspelled
    key must not pass for an acknowledgement.
    """

    error: ErrorCode = ErrorCode.NONE
    errors: Mapping[TopicPartition, ErrorCode] = attrs.field(default=NOTHING, converter=_as_errors)


@runtime_checkable
class Host(Protocol):
    """What a host implements. Sync methods; a slow or raising one hurts no other broker and not the controller.

    A host may take notices as well: see `HostNotices`.
    """

    def leader_and_isr(self, request: LeaderAndIsrRequest) -> HostResponse: ...

    def update_metadata(self, request: UpdateMetadataRequest) -> HostResponse: ...

    def stop_replica(self, request: StopReplicaRequest) -> HostResponse: ...


class HostNotices:
    """What a host may be notified of, beside the callbacks of `Host`. Every method is optional and does nothing here.

    A host that inherits from this class overrides the notices that it wants, and a type checker compares the
    signatures. A host that does not inherit from it gets each notice that it has a plain method for.

    Methods are looked up once, when the `Controller` is made. They are called where callbacks are called, one at a
    time, and have no answer: an exception is logged, and the notice is not repeated.
    """

    def config_changed(self, entity_type: str, name: str, configs: Mapping[str, str]) -> None:
        """The configs of a topic ("topics", its name), of a broker ("brokers", its id in decimal), or the defaults of
        all brokers ("brokers", "<default>") are `configs` from now on, all of them. On the active controller."""

    def controller_changed(self, controller_id: int, epoch: int) -> None:
        """Another controller is active, or the same one under another epoch. On every controller."""

    def partition_purged(self, topic: str, partition: int) -> None:
        """A reduction removed the partition (KIP-694). At least once: a failover may repeat it. On the active
        controller."""
