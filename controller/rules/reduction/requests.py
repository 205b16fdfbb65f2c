"""Requests for reductions: which partitions may be removed, and the answer. For all of a topic's partitions or none."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final

import attrs

from ...model.errors import (
    NOT_HOSTED,
    ApiError,
    InvalidPartitions,
    InvalidRequest,
    ReassignmentInProgress,
    StorageError,
    TopicDeletionDisabled,
    UnknownTopicOrPartition,
)
from ...model.events import Decision, DeletePartitions, ReductionDue, refuse
from ...model.plural import counted
from ...model.reductions import OFFLINE, READ_ONLY, Retirement, Retirements, entries_bytes_max
from ...model.view import ClusterView
from ...records import ReductionChanged
from ..topics import VALUE_BYTES_MAX
from .configs import disabled

INTERNAL: Final = "__"
_NAMED_MAX: Final = 20
_FRAME_BYTES: Final = 64  # of the key, around its entries


def delete_partitions(view: ClusterView, event: DeletePartitions) -> Decision:
    """Reply: the status that each of the last partitions gets, or has, by id; or the error."""
    name = event.topic
    if error := _check_topic(view, name):
        return refuse(error)
    tail = _tail(event, view.partition_count(name))
    if isinstance(tail, ApiError):
        return refuse(tail)
    if error := _check_partitions(view, event, tail):
        return refuse(error)
    before = view.reduction(name)
    after = {**before, **{p: _retirement(view, event, p) for p in tail}}
    if error := check_size(name, after):
        return refuse(error)
    reply = {p: _status(view, name, p, after[p]) for p in tail}
    if after == before:
        return Decision(reply=reply)
    due = ReductionDue(event.now_ms, name)
    return Decision((ReductionChanged(name, after),), reply, (due,))


def _check_topic(view: ClusterView, name: str) -> ApiError | None:
    if reason := disabled(view):
        return TopicDeletionDisabled(f"topic {name!r:.300} may not lose partitions: {reason}")
    if problem := view.unreadable(name):
        return StorageError(problem)
    if view.topic(name) is None:
        return UnknownTopicOrPartition(NOT_HOSTED)
    if view.is_deleting(name):
        return UnknownTopicOrPartition(f"topic {name} is being deleted")
    return InvalidRequest(f"topic {name} is an internal one") if name.startswith(INTERNAL) else None


def _tail(event: DeletePartitions, count: int) -> tuple[int, ...] | ApiError:
    name = event.topic
    if event.total_count is not None:
        if 1 <= event.total_count < count:
            return tuple(range(event.total_count, count))
        return InvalidPartitions(
            f"topic {name} has {counted(count, 'partition')}; total_count must be at least 1 and fewer, "
            f"not {event.total_count}"
        )
    named = event.partitions if event.partitions is not None else ()
    if unknown := [p for p in named if not 0 <= p < count]:
        return UnknownTopicOrPartition(f"topic {name} has no partitions {unknown[:_NAMED_MAX]}")
    if len(set(named)) != len(named):
        return InvalidRequest(f"topic {name}: a partition is named twice")
    if problem := check_tail(name, named, count):
        return InvalidPartitions(problem)
    return tuple(sorted(named))


def check_tail(name: str, named: Collection[int], count: int) -> str | None:
    """Why exactly these partitions of a topic cannot be removed; None if they can."""
    if named and set(named) == set(range(count - len(named), count)) and len(named) < count:
        return None
    said = sorted(named)[:_NAMED_MAX]
    return f"topic {name}: only its last partitions, not all of 0..{count - 1}, can be deleted; got {said}"


def _check_partitions(view: ClusterView, event: DeletePartitions, tail: Iterable[int]) -> ApiError | None:
    known, moving = view.reduction(event.topic), list[int]()
    for number in tail:
        p, entry = view.partition(event.topic, number), known.get(number)
        if problem := view.unreadable(event.topic, number):
            return StorageError(problem)
        is_asked = entry is not None and (entry.immediate or not event.immediate)
        if p is not None and p.move is not None and not is_asked:
            moving.append(number)
    if not moving:
        return None
    return ReassignmentInProgress(f"topic {event.topic}: partitions {moving[:_NAMED_MAX]} are being reassigned")


def check_size(name: str, entries: Retirements) -> ApiError | None:
    """Why these entries do not fit into a key; None if they do."""
    size = entries_bytes_max(entries) + _FRAME_BYTES
    if size <= VALUE_BYTES_MAX:
        return None
    return InvalidPartitions(
        f"topic {name}: {counted(len(entries), 'partition')} may take {size} bytes in the reduction's key, "
        f"which holds at most {VALUE_BYTES_MAX}; remove fewer at once"
    )


def _retirement(view: ClusterView, event: DeletePartitions, partition: int) -> Retirement:
    known = view.reduction(event.topic).get(partition)
    if known is None:
        return Retirement(event.now_ms, event.immediate)
    return attrs.evolve(known, immediate=known.immediate or event.immediate)


def _status(view: ClusterView, name: str, partition: int, entry: Retirement) -> int:
    p = view.partition(name, partition)
    return OFFLINE if entry.immediate or (p is not None and p.is_offline) else READ_ONLY
