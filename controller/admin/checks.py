"""Checks of the arguments of the admin API. They run in the caller and raise TypeError or ValueError."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar, cast

from ..model.durations import milliseconds
from ..model.requests import BROKER_ID_MAX, AlterReassignmentsOptions, NewPartitionReassignment, as_replicas
from ..model.values import Replicas, TopicPartition

T = TypeVar("T")

Target = NewPartitionReassignment | Sequence[int] | None


def require(value: object, kind: type, what: str) -> None:
    if not isinstance(value, kind):
        raise TypeError(f"{what} must be a {kind.__name__}, not {value!r:.200}")


def require_topics(topics: object, kind: type) -> None:
    """TypeError unless `topics` maps names to instances of `kind`."""
    require(topics, Mapping, "topics")
    for name, value in cast(Mapping[object, object], topics).items():
        require(name, str, "a topic's name")
        require(value, kind, f"topics[{name!r:.80}]")


def as_broker(value: object) -> int:
    """A broker id within its range. TypeError, ValueError."""
    if type(value) is not int:
        raise TypeError(f"a broker id must be an int, not {value!r:.80}")
    if not 0 <= value <= BROKER_ID_MAX:
        raise ValueError(f"a broker id must be within 0..{BROKER_ID_MAX}, not {value}")
    return value


def as_partition(value: object) -> TopicPartition:
    if isinstance(value, TopicPartition):
        return value
    raise TypeError(f"a partition must be a TopicPartition, not {value!r:.200}")


def as_epochs(values: object) -> dict[int, int] | None:
    """Broker epochs by broker, or None."""
    if values is None:
        return None
    if not isinstance(values, Mapping) or {type(each) for pair in values.items() for each in pair} - {int}:
        raise TypeError(f"isr_epochs must have ints by ints, not {values!r:.200}")
    return dict(values)


def as_partitions(values: object) -> list[TopicPartition]:
    return list(dict.fromkeys(as_all(values, TopicPartition, "a set of TopicPartition")))


def as_names(values: object) -> list[str]:
    return as_all(values, str, "a set of topic names")


def as_all(values: object, kind: type[T], what: str) -> list[T]:
    """`values` as a list of instances of `kind`. TypeError names the argument as `what`."""
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise TypeError(f"expected {what}, not {values!r:.200}")
    found = list(values)
    for value in found:
        require(value, kind, f"each of {what}")
    return found


def as_target(value: object) -> Replicas:
    if isinstance(value, NewPartitionReassignment):
        return value.target_replicas
    return as_replicas(value, "target_replicas")


def as_options(value: T | None, kind: type[T]) -> T:
    """`value`, or the default options. TypeError."""
    if value is None:
        return kind()
    require(value, kind, "options")
    return value


def as_timeout(timeout_s: float) -> int:
    """`timeout_s` in milliseconds. TypeError, ValueError."""
    return milliseconds(timeout_s, "timeout_s")


def as_move_timeout(options: AlterReassignmentsOptions) -> int | None:
    """The deadline of a whole move in milliseconds, None if it has none."""
    return None if options.move_timeout_s is None else milliseconds(options.move_timeout_s, "move_timeout_s")
