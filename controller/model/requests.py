"""Arguments and results of the admin API, in the shape of Kafka's AdminClient."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from typing import Any, Final

import attrs

from .durations import milliseconds
from .values import Replicas

BROKER_ID_MAX = 2**31 - 1
_LISTS: Final = (tuple, list)  # the usual types; a check for an abstract class takes ten times as long
_INT: Final = frozenset({int})


def as_replicas(value: Any, what: str) -> Replicas:
    """`value` as a tuple of ints, in any range. TypeError if it is not a sequence of ints."""
    if type(value) not in _LISTS and (isinstance(value, (str, bytes)) or not isinstance(value, Sequence)):
        raise TypeError(f"{what} must be a sequence of broker ids, not {value!r:.200}")
    replicas = tuple(value)
    if not _INT.issuperset(map(type, replicas)):
        raise TypeError(f"{what} must hold ints only: {value!r:.200}")
    return replicas


def _as_assignments(value: object) -> tuple[Replicas, ...] | None:
    if value is None:
        return None
    if isinstance(value, Mapping):
        if set(value) != set(range(len(value))):
            raise ValueError(f"replica_assignments must name the partitions 0..n-1: {sorted(value)!r:.200}")
        value = [value[i] for i in range(len(value))]
    if isinstance(value, (str, bytes)) or not isinstance(value, Sequence):
        raise TypeError(f"replica_assignments must be a sequence or a mapping, not {value!r:.200}")
    return tuple(as_replicas(replicas, f"replica_assignments[{i}]") for i, replicas in enumerate(value))


def _require_int(_: object, attribute: attrs.Attribute[int], value: object) -> None:
    if type(value) is not int:
        raise TypeError(f"{attribute.name} must be an int, not {value!r:.200}")


def as_configs(value: Mapping[str, str]) -> Mapping[str, str]:
    """A copy of `value`. TypeError unless it maps str to str."""
    if not isinstance(value, Mapping) or any(type(k) is not str or type(v) is not str for k, v in value.items()):
        raise TypeError(f"configs must map str to str, not {value!r:.200}")
    return dict(value)


@attrs.frozen
class NewTopic:
    """A topic to create: by number of partitions and replication factor (-1: the controller's default), or by
    assignment (partition id -> broker ids, or a list of those). TypeError for a field of the wrong type."""

    num_partitions: int = attrs.field(default=-1, validator=_require_int)
    replication_factor: int = attrs.field(default=-1, validator=_require_int)
    replica_assignments: tuple[Replicas, ...] | None = attrs.field(default=None, converter=_as_assignments)
    configs: Mapping[str, str] = attrs.field(factory=dict, converter=as_configs)


@attrs.frozen
class NewPartitions:
    """`total_count`: the number of partitions afterwards; `new_assignments`: one list of brokers per added
    partition."""

    total_count: int = attrs.field(validator=_require_int)
    new_assignments: tuple[Replicas, ...] | None = attrs.field(default=None, converter=_as_assignments)


def _as_ids(value: Sequence[int] | None) -> tuple[int, ...] | None:
    return None if value is None else as_replicas(value, "partitions")


@attrs.frozen
class DeletePartitions:
    """The partitions to remove from a topic (KIP-694): all from `total_count` on, or exactly `partitions`, which must
    be its last ones (`total_count` is None then). `immediate_delete`: they go offline at once and their records are
    deleted; otherwise they stay readable until the topic's retention is over."""

    total_count: int | None = None
    immediate_delete: bool = False
    partitions: tuple[int, ...] | None = attrs.field(default=None, converter=_as_ids, kw_only=True)

    def __attrs_post_init__(self) -> None:
        if self.total_count is not None and type(self.total_count) is not int:
            raise TypeError(f"total_count must be an int, not {self.total_count!r:.80}")
        if type(self.immediate_delete) is not bool:
            raise TypeError(f"immediate_delete must be a bool, not {self.immediate_delete!r:.80}")
        if (self.total_count is None) is (self.partitions is None):
            raise ValueError("give either total_count or partitions")


def _as_target(value: Sequence[int]) -> Replicas:
    return as_replicas(value, "target_replicas")


@attrs.frozen
class NewPartitionReassignment:
    """T: the complete replicas after the move, preferred leader first (KIP-455)."""

    target_replicas: Replicas = attrs.field(converter=_as_target)


@attrs.frozen(kw_only=True)
class AlterReassignmentsOptions:
    """`timeout_s`: seconds until the commit. `move_timeout_s`: seconds until the move cancels itself (None: never).
    `force`: cancel even if R has no live in-sync replica. `allow_replication_factor_change`: as in KIP-860."""

    timeout_s: float = 60.0
    move_timeout_s: float | None = None
    allow_replication_factor_change: bool = True
    force: bool = False

    def __attrs_post_init__(self) -> None:
        milliseconds(self.timeout_s, "timeout_s")
        if self.move_timeout_s is not None and milliseconds(self.move_timeout_s, "move_timeout_s") == 0:
            raise ValueError(f"move_timeout_s must be at least 0.001 seconds, not {self.move_timeout_s}")


@attrs.frozen
class ReassignmentAnswer:
    """The partition after an accepted alteration. `target_replicas` None: no move runs. `origin`: R before the first
    request of the move that runs or was just cancelled; reassigning to it undoes the move."""

    replicas: Replicas
    target_replicas: Replicas | None
    origin: Replicas


@attrs.frozen
class WaitingOn:
    """A target replica that is not in sync yet; `down`: its broker is not live, or its disk failed."""

    broker: int
    down: bool


@attrs.frozen
class PartitionReassignment:
    """A running move. `adding`: T without R; `removing`: R without T; times in Unix milliseconds."""

    replicas: Replicas
    target_replicas: Replicas
    isr: Replicas
    adding: Replicas
    removing: Replicas
    origin: Replicas
    waiting_on: tuple[WaitingOn, ...]
    started_at: int
    deadline_at: int | None


@attrs.frozen
class AcceptedIsr:
    """The result of `alter_isr`: the committed ISR, and the partition epoch (generation of the state key)."""

    isr: Replicas
    partition_epoch: int


@attrs.frozen
class CreatedTopic:
    """A topic as created, or as it would be created (`validate_only`)."""

    name: str
    topic_id: str
    assignments: tuple[Replicas, ...]


@attrs.frozen
class PartitionDescription:
    """A partition of a topic. `leader`: None if it has none. `target_replicas`: None unless the partition is being
    reassigned. `status_code`: 0 online, -1 read-only, 1 offline (KIP-694)."""

    partition: int
    leader: int | None
    leader_epoch: int
    replicas: Replicas
    isr: Replicas
    target_replicas: Replicas | None
    status_code: int


@attrs.frozen
class TopicDescription:
    """A topic and its partitions, by number."""

    name: str
    topic_id: str
    partitions: tuple[PartitionDescription, ...]


@attrs.frozen
class TopicPartitionReplica:
    """The replica of a partition on a broker. TypeError where a field is not of its kind."""

    topic: str
    partition: int
    broker_id: int

    def __attrs_post_init__(self) -> None:
        if type(self.topic) is not str or type(self.partition) is not int or type(self.broker_id) is not int:
            raise TypeError(f"TopicPartitionReplica takes a str and two ints, not {attrs.astuple(self)!r:.200}")


@attrs.frozen
class ReplicaLogDirInfo:
    """A replica's log, from the latest report of its host (KIP-113). `size_bytes` None: the report has no size.
    `offset_lag`: committed records of the leader's report that the log lacks. `is_future`: a copy being moved between
    directories of the broker; hosts report one log per replica, so it is False."""

    size_bytes: int | None
    offset_lag: int
    is_future: bool = False


class ElectionType(enum.Enum):
    """PREFERRED: elect R[0]. UNCLEAN: elect a replica outside the ISR for a partition without a leader; records are
    lost."""

    PREFERRED = "preferred"
    UNCLEAN = "unclean"
