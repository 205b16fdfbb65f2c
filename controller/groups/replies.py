"""The answers of a coordinator as values."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import TypeAlias

import attrs

from ..coordinators import CoordinatorError
from ..coordinators.turn import Answered
from ..model.values import TopicPartition
from .records import Committed
from .requests import Leaving


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
    state: State


Reply: TypeAlias = Joined | Synced | Answered | Left | OffsetErrors | FetchedOffsets | Described
