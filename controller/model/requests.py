"""What callers of the admin API hand in and get back: the shape of Kafka's AdminClient, in Python spelling."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from typing import Any, Final

import attrs

from controller.model.durations import milliseconds
from controller.model.frozen import NOTHING, FrozenDict, sealed
from controller.model.values import Replicas

BROKER_ID_MAX = 2**31 - 1
_LISTS: Final = (tuple, list)  # what nearly everybody hands in: to ask for an abstract class costs ten times as much
_INT: Final = frozenset({int})


def as_replicas(value: Any, what: str) -> Replicas:
    """`value` as a tuple of ints, whatever their meaning; TypeError for anything that is no sequence of ints."""
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


def _as_configs(value: Mapping[str, str]) -> Mapping[str, str]:
    if not isinstance(value, Mapping) or any(type(k) is not str or type(v) is not str for k, v in value.items()):
        raise TypeError(f"configs must map str to str, not {value!r:.200}")
    return FrozenDict(value)


@attrs.frozen
class NewTopic:
    """A topic to create: by count and replication factor (-1 = the controller's default), or by assignment
    (partition id -> broker ids, or a list of them). TypeError where a field is not of its kind."""

    num_partitions: int = attrs.field(default=-1, validator=_require_int)
    replication_factor: int = attrs.field(default=-1, validator=_require_int)
    replica_assignments: tuple[Replicas, ...] | None = attrs.field(default=None, converter=_as_assignments)
    configs: Mapping[str, str] = attrs.field(default=NOTHING, converter=_as_configs)


@attrs.frozen
class NewPartitions:
    """`total_count`: how many partitions the topic has afterwards; `new_assignments`: one list per added one."""

    total_count: int = attrs.field(validator=_require_int)
    new_assignments: tuple[Replicas, ...] | None = attrs.field(default=None, converter=_as_assignments)


def _as_ids(value: Sequence[int] | None) -> tuple[int, ...] | None:
    return None if value is None else as_replicas(value, "partitions")


@attrs.frozen
class DeletePartitions:
    """Which partitions of a topic go (KIP-694): all from `total_count` on; or just `partitions`, which have to be its
    last ones, as Kafka's protocol names them (then `total_count` is None). `immediate_delete`: they go offline at once,
    and their records with them; otherwise they can be read until the topic's retention is over."""

    total_count: int | None = None
    immediate_delete: bool = False
    partitions: tuple[int, ...] | None = attrs.field(default=None, converter=_as_ids, kw_only=True)

    def __attrs_post_init__(self) -> None:
        if self.total_count is not None and type(self.total_count) is not int:
            raise TypeError(f"total_count must be an int, not {self.total_count!r:.80}")
        if type(self.immediate_delete) is not bool:
            raise TypeError(f"immediate_delete must be a bool, not {self.immediate_delete!r:.80}")
        if (self.total_count is None) is (self.partitions is None):
            raise ValueError("give total_count or partitions, one of the two")


def _as_target(value: Sequence[int]) -> Replicas:
    return as_replicas(value, "target_replicas")


@attrs.frozen
class NewPartitionReassignment:
    """T: the whole final replica list, preferred leader first (KIP-455)."""

    target_replicas: Replicas = attrs.field(converter=_as_target)


@attrs.frozen(kw_only=True)
class AlterReassignmentsOptions:
    """`timeout_s`: seconds until the commit. `move_timeout_s`: relative deadline of the whole move, in seconds, after
    which it cancels itself (None: none). `force`: cancel even where no live in-sync replica would remain in R.
    `allow_replication_factor_change`: KIP-860."""

    timeout_s: float = 60.0
    move_timeout_s: float | None = None
    allow_replication_factor_change: bool = True
    force: bool = False

    def __attrs_post_init__(self) -> None:
        milliseconds(self.timeout_s, "timeout_s")
        if self.move_timeout_s is not None and milliseconds(self.move_timeout_s, "move_timeout_s") == 0:
            raise ValueError(f"move_timeout_s must be at least a millisecond: {self.move_timeout_s}")


@sealed
class ReassignmentAnswer:
    """What an accepted alteration left. `target_replicas` None: nothing is running now. `origin`: R before the first
    request of the move that runs or was just cancelled; reassigning to it rolls the move back."""

    replicas: Replicas
    target_replicas: Replicas | None
    origin: Replicas


@sealed
class WaitingOn:
    """A target that is not in sync yet; `down`: its broker, or its disk, is gone."""

    broker: int
    down: bool


@sealed
class PartitionReassignment:
    """A running move as it is listed. `adding` = T without R, `removing` = R without T; times in Unix ms."""

    replicas: Replicas
    target_replicas: Replicas
    isr: Replicas
    adding: Replicas
    removing: Replicas
    origin: Replicas
    waiting_on: tuple[WaitingOn, ...]
    started_at: int
    deadline_at: int | None


@sealed
class AcceptedIsr:
    """What `alter_isr` is answered with: I as committed, and the partition epoch (generation of the state key)."""

    isr: Replicas
    partition_epoch: int


@attrs.frozen
class CreatedTopic:
    """A topic as created, or as it would be (`validate_only`)."""

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


@sealed
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
    """A replica's log, as its host reported it last (KIP-113). `size_bytes` None: the report names no size.
    `offset_lag`: records that the log lacks of what its leader reported as committed. `is_future`: this is the copy
    that a move between directories of one broker makes; hosts report one log per replica, so it is False."""

    size_bytes: int | None
    offset_lag: int
    is_future: bool = False


class ElectionType(enum.Enum):
    """PREFERRED: R[0] is to lead. UNCLEAN: a partition without leader takes one from outside I, losing records."""

    PREFERRED = "preferred"
    UNCLEAN = "unclean"
