"""The answers of a coordinator as values."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import TypeAlias

import attrs

from ..coordinators import CoordinatorError
from ..coordinators.turn import Answered
from ..model.values import TopicPartition
from .consumer.values import Current, GroupState, Partitions, Subscriber
from .records import Committed
from .requests import Commit, ConsumerHeartbeat, GroupRequest, Join, Leave, Leaving, Sync


class State(enum.Enum):
    """Kafka's names of the states of a group."""

    EMPTY = "Empty"
    PREPARING = "PreparingRebalance"
    COMPLETING = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"


@attrs.frozen
class JoinedMember:
    """A member, as the leader of the generation sees it."""

    member_id: str
    instance_id: str | None
    metadata: bytes


@attrs.frozen
class Joined:
    """To Join. `members`: for the leader alone."""

    error: CoordinatorError
    member_id: str
    generation: int = -1
    protocol_type: str | None = None
    protocol: str | None = None
    leader: str = ""
    members: tuple[JoinedMember, ...] = ()
    skips_assignment: bool = False


@attrs.frozen
class Synced:
    """To Sync."""

    error: CoordinatorError
    protocol_type: str | None = None
    protocol: str | None = None
    assignment: bytes = b""


@attrs.frozen
class ConsumerHeartbeated:
    """To ConsumerHeartbeat. `assigned`: the partitions that the member may use; None: as before."""

    error: CoordinatorError
    member_id: str
    epoch: int = 0
    assigned: Partitions | None = None
    interval_ms: int = 0
    message: str | None = None


@attrs.frozen
class Left:
    """To Leave: the result for each member."""

    members: tuple[tuple[Leaving, CoordinatorError], ...]


@attrs.frozen
class OffsetErrors:
    """To Commit and DeleteOffsets: the result for each partition."""

    errors: Mapping[TopicPartition, CoordinatorError]


@attrs.frozen
class FetchedOffsets:
    """To FetchOffsets. None: nothing is committed. `unstable`: the partitions without a stable offset, if that was
    required."""

    offsets: Mapping[TopicPartition, Committed | None]
    unstable: frozenset[TopicPartition] = frozenset()


@attrs.frozen
class DescribedMember:
    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    metadata: bytes
    assignment: bytes


@attrs.frozen
class Described:
    """To Describe. `state` DEAD: there is no such group."""

    state: State
    protocol_type: str = ""
    protocol: str = ""
    members: tuple[DescribedMember, ...] = ()


@attrs.frozen
class Listed:
    """A row in the list of all groups of a coordinator."""

    group: str
    protocol_type: str
    state: State | GroupState


@attrs.frozen
class DescribedConsumer:
    """A member. `current`, `target`: the partitions that it has and shall have."""

    member_id: str
    said: Subscriber
    current: Current
    target: Partitions


@attrs.frozen
class DescribedConsumers:
    """To DescribeConsumers. `names`: of the topics, by their ids."""

    state: GroupState
    epoch: int
    target_epoch: int
    assignor: str
    members: tuple[DescribedConsumer, ...]
    names: Mapping[str, str]


Reply: TypeAlias = (
    Joined
    | Synced
    | ConsumerHeartbeated
    | Answered
    | Left
    | OffsetErrors
    | FetchedOffsets
    | Described
    | DescribedConsumers
)


def refused(asked: GroupRequest, error: CoordinatorError) -> Reply:
    """The answer that refuses a whole request."""
    if isinstance(asked, Join):
        return Joined(error, asked.member_id)
    if isinstance(asked, Sync):
        return Synced(error)
    if isinstance(asked, ConsumerHeartbeat):
        return ConsumerHeartbeated(error, asked.member_id)
    if isinstance(asked, Commit):
        return OffsetErrors(dict.fromkeys(asked.offsets, error))
    if isinstance(asked, Leave) and error is CoordinatorError.UNKNOWN_MEMBER_ID:
        return Left(tuple((leaving, error) for leaving in asked.members))
    return Answered(error)
