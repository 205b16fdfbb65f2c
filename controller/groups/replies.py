"""The answers of a coordinator as values, with Kafka's error codes."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import TypeAlias

import attrs

from ..model.values import TopicPartition
from .records import Committed
from .requests import Leaving


class GroupError(enum.IntEnum):
    """Kafka's error codes."""

    UNKNOWN_SERVER_ERROR = -1
    NONE = 0
    UNKNOWN_TOPIC_OR_PARTITION = 3
    REQUEST_TIMED_OUT = 7
    OFFSET_METADATA_TOO_LARGE = 12
    COORDINATOR_LOAD_IN_PROGRESS = 14
    COORDINATOR_NOT_AVAILABLE = 15
    NOT_COORDINATOR = 16
    ILLEGAL_GENERATION = 22
    INCONSISTENT_GROUP_PROTOCOL = 23
    INVALID_GROUP_ID = 24
    UNKNOWN_MEMBER_ID = 25
    INVALID_SESSION_TIMEOUT = 26
    REBALANCE_IN_PROGRESS = 27
    INVALID_COMMIT_OFFSET_SIZE = 28
    TOPIC_AUTHORIZATION_FAILED = 29
    GROUP_AUTHORIZATION_FAILED = 30
    INVALID_REQUEST = 42
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED = 53
    NON_EMPTY_GROUP = 68
    GROUP_ID_NOT_FOUND = 69
    MEMBER_ID_REQUIRED = 79
    GROUP_MAX_SIZE_REACHED = 81
    FENCED_INSTANCE_ID = 82
    GROUP_SUBSCRIBED_TO_TOPIC = 86


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

    error: GroupError
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

    error: GroupError
    protocol_type: str | None = None
    protocol: str | None = None
    assignment: bytes = b""


@attrs.frozen
class Answered:
    """To Heartbeat and DeleteGroup, and to every other request if the whole of it is refused."""

    error: GroupError


@attrs.frozen
class Left:
    """To Leave: the result for each member."""

    members: tuple[tuple[Leaving, GroupError], ...]


@attrs.frozen
class OffsetErrors:
    """To Commit and DeleteOffsets: the result for each partition."""

    errors: Mapping[TopicPartition, GroupError]


@attrs.frozen
class FetchedOffsets:
    """To FetchOffsets. None: nothing is committed."""

    offsets: Mapping[TopicPartition, Committed | None]


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
