"""The callbacks that a host implements, and their requests and responses.

Calls come one at a time per broker, outside the loop thread. An exception means "not delivered": the controller sends
the content again. A receiver obeys no content with an older controller, broker or leader epoch, or another topic_id, so
calls may be repeated, reordered and lost without harm. It answers such a request, and such a deletion, with an error:
a deletion that it skips in silence counts as acknowledged.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol, TypeVar, runtime_checkable

import attrs

from .errors import ErrorCode
from .values import Endpoint, Replicas, TopicPartition

T = TypeVar("T")


@attrs.frozen
class LivePeer:
    """A live broker, as requests to other brokers describe it."""

    broker_id: int
    host: str
    port: int
    rack: str | None
    endpoints: tuple[Endpoint, ...] = ()


@attrs.frozen
class LeaderAndIsrPartition:
    """The state of one replica. `target_replicas` None: not moving, or the broker declared a LeaderAndIsr version below
    3.

    `is_new`: the broker may create an empty log. This holds if it is not in the ISR, so that no one relies on its
    records, if the partition still has its first leader epoch, or if the broker has not yet answered for a partition
    created in this term. Otherwise a broker without a log answers KAFKA_STORAGE_ERROR. `leader_recovery_state` 1: the
    leader was elected uncleanly and is alone in the ISR until its `alter_isr` sends 0. `status_code` (KIP-694) -1: the
    leader refuses records of producers; 1: no broker serves the partition or creates a log for it."""

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


@attrs.frozen
class LeaderAndIsrRequest:
    """`full`: the broker stops serving partitions that are not listed (it deletes logs only on stop_replica)."""

    broker_id: int
    broker_epoch: int
    controller_id: int
    controller_epoch: int
    full: bool
    partitions: tuple[LeaderAndIsrPartition, ...]
    live_leaders: tuple[LivePeer, ...]


@attrs.frozen
class StopReplicaPartition:
    """A replica to stop; `delete`: delete its log too."""

    topic: str
    topic_id: str
    partition: int
    leader_epoch: int
    delete: bool


@attrs.frozen
class StopReplicaRequest:
    """The response acknowledges each deletion that it does not list as an error, also one that the broker skipped. What
    is acknowledged is not ordered again."""

    broker_id: int
    broker_epoch: int
    controller_id: int
    controller_epoch: int
    partitions: tuple[StopReplicaPartition, ...]


@attrs.frozen
class PartitionMetadata:
    """What every broker may know of a partition. `leader` -1: none; -2: its topic is being deleted, or a reduction
    deleted it. `status_code` (KIP-694) 0: online; -1: read-only; 1: offline, so brokers do not report it to clients."""

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


class Shared(tuple[T, ...]):  # noqa: SLOT001 - a tuple has no slots of its own
    """What the requests of a round to several brokers have in common: the same object in each. `prepared`: what a host
    makes of it once for all of them, by a key of the host's; it ends with the tuple."""

    prepared: dict[object, Any]

    def __init__(self, _: Iterable[T] = ()) -> None:
        self.prepared = {}


@attrs.frozen
class UpdateMetadataRequest:
    """`full`: partitions that are not listed do not exist. `partitions`: a `Shared` of the controller."""

    broker_id: int
    broker_epoch: int
    controller_id: int
    controller_epoch: int
    full: bool
    live_brokers: tuple[LivePeer, ...]
    partitions: tuple[PartitionMetadata, ...]


def _as_errors(errors: Mapping[TopicPartition, ErrorCode]) -> Mapping[TopicPartition, ErrorCode]:
    return dict(errors) if isinstance(errors, Mapping) else errors  # the controller refuses what is none


@attrs.frozen
class HostResponse:
    """`error`: of the whole request (STALE_CONTROLLER_EPOCH, STALE_BROKER_EPOCH). `errors`: partitions that failed;
    KAFKA_STORAGE_ERROR means that this broker's disk for it failed. A partition that is not listed succeeded.

    Codes may be plain ints. The whole response counts as "not delivered" if `errors` has a key that is not a
    TopicPartition or not in the request, or a code that is not an int: otherwise a refused deletion under a misspelled
    key would count as acknowledged.
    """

    error: ErrorCode = ErrorCode.NONE
    errors: Mapping[TopicPartition, ErrorCode] = attrs.field(factory=dict, converter=_as_errors)


@runtime_checkable
class Host(Protocol):
    """The callbacks of a host: synchronous methods. A slow or failing one affects neither other brokers nor the
    controller. A host may also take notices: see `HostNotices`.
    """

    def leader_and_isr(self, request: LeaderAndIsrRequest) -> HostResponse:
        """The broker `request.broker_id` leads or follows each partition as the request says. It skips a partition
        with an older leader epoch than it knows.

        Errors of a partition: KAFKA_STORAGE_ERROR, where its disk is gone, or where there is no log and `is_new` is
        false. Of the request: STALE_CONTROLLER_EPOCH, STALE_BROKER_EPOCH; nothing of it is obeyed then.
        """

    def update_metadata(self, request: UpdateMetadataRequest) -> HostResponse:
        """The broker knows the live brokers and the partitions of the request, to answer clients. It skips a partition
        with an older leader epoch or partition epoch than it knows. Errors of the request: as for `leader_and_isr`."""

    def stop_replica(self, request: StopReplicaRequest) -> HostResponse:
        """The broker serves none of these partitions, and has deleted the logs of those with `delete`.

        The response acknowledges every partition that it does not list as an error, and an acknowledged deletion is not
        ordered again: a log that the broker keeps in silence stays for ever. So a partition with an older leader epoch
        than the broker knows gets FENCED_LEADER_EPOCH, and a disk that is gone KAFKA_STORAGE_ERROR. A log that is not
        there, or is that of another topic id, is acknowledged. Errors of the request: as for `leader_and_isr`.
        """


class HostNotices:
    """What a host may be notified of, beside the callbacks of `Host`. Every method is optional and does nothing here.

    A host that inherits from this class overrides the notices that it wants, and a type checker compares the
    signatures. A host that does not inherit from it gets each notice that it has a plain method for.

    Methods are looked up once, when the `Controller` is made. They are called where callbacks are called, one at a
    time, and have no answer: an exception is logged, and the notice is not repeated.
    """

    def config_changed(self, entity_type: str, name: str, configs: Mapping[str, str]) -> None:
        """The configs of a topic ("topics", its name), of a broker ("brokers", its id in decimal), or of all brokers
        ("brokers", "<default>") changed; `configs` are all of them. On the active controller."""

    def controller_changed(self, controller_id: int, epoch: int) -> None:
        """Another controller became active, or the same one under another epoch. On every controller."""

    def partition_purged(self, topic: str, partition: int) -> None:
        """A reduction removed the partition (KIP-694). At least once: after a failover it may repeat. On the active
        controller."""
