"""The key of a reduction in the store: found by a takeover, written, changed or removed by another program.

A valid key is a request like any other. A key that names other partitions than the last ones, is for no topic or an
internal one, or cannot be read, is removed, and the journal says why. If it is changed during the reduction, additional
partitions and `immediate` flags are accepted; the rest is written again.
"""

from __future__ import annotations

from itertools import takewhile

import attrs

from ...model.events import (
    Decision,
    Event,
    PartitionDue,
    PurgeDue,
    Reason,
    ReductionDue,
    ReductionKeyDue,
    ReductionKeyRead,
)
from ...model.records import Record
from ...model.reductions import Retirement, Retirements
from ...model.view import ClusterView
from ...records import ForeignChange, KeyAdopted, ReductionChanged, ReductionRefused
from .configs import disabled
from .requests import INTERNAL, check_size, check_tail

_KEY = "/admin/delete_topic_partitions"


def reduction_key_read(view: ClusterView, event: ReductionKeyRead) -> Decision:
    """Another tool requests a reduction, or wrote or removed a key of ours."""
    name = event.topic
    if view.is_known(event.at):
        return Decision()
    if view.is_deleting(name):  # the key is removed with its topic
        known = ReductionChanged(name, view.reduction(name), is_written=True)
        return Decision((KeyAdopted(event.at), known) if event.at.version else (KeyAdopted(event.at),))
    if view.reduction(name):
        return _changed(view, event)
    if not event.at.version or view.unreadable(name):
        return Decision()  # for an unreadable topic: wait until its partitions are known
    return _put(view, event)


def refusal(view: ClusterView, event: ReductionKeyRead) -> str | None:
    """Why an unknown key is refused; None if it is accepted."""
    name, count = event.topic, view.partition_count(event.topic)
    if event.problem is not None:
        return f"it cannot be read: {event.problem}"
    if view.topic(name) is None:
        return "there is no such topic"
    left = [p for p in event.entries if not _is_gone(view, name, p)]
    if not left:
        return None  # everything is done except removing the key
    if problem := check_tail(name, left, count):
        return problem
    if any(p.status_code for p in view.partitions_of(name)):
        return None  # what was begun is finished
    if reason := disabled(view):
        return reason
    if name.startswith(INTERNAL):
        return f"topic {name} is an internal one"
    too_large = check_size(name, event.entries)
    return None if too_large is None else too_large.message


def _is_gone(view: ClusterView, name: str, partition: int) -> bool:
    topic = view.topic(name)
    return topic is not None and partition >= view.partition_count(name) and partition in topic.retired_epochs


def _put(view: ClusterView, event: ReductionKeyRead) -> Decision:
    name = event.topic
    reason = refusal(view, event)
    adopted = KeyAdopted(event.at)
    if reason is None:
        changed = ReductionChanged(name, event.entries, is_written=bool(event.entries), extra=event.extra)
        return Decision((adopted, changed), expand=_due(event))
    begun = _begun(view, name, event.now_ms, event.entries)
    if not begun:
        return Decision((adopted, ReductionRefused(name, reason)))
    again = ForeignChange(name, None, f"{_KEY}: {reason}; what was begun goes on", is_rewritten=False)
    return Decision((adopted, ReductionChanged(name, begun, extra=event.extra), again), expand=_due(event))


def _begun(view: ClusterView, name: str, now_ms: int, said: Retirements) -> dict[int, Retirement]:
    """The partitions that are not online, with their entries in the key; without an entry, as if requested now."""
    going = (p for p in view.partitions_of(name) if p.status_code and p.partition)
    return {p.partition: said.get(p.partition, Retirement(now_ms, p.is_offline)) for p in going}


def _due(event: ReductionKeyRead) -> tuple[Event, ...]:
    return (ReductionDue(event.now_ms, event.topic, is_found=True),)


def _changed(view: ClusterView, event: ReductionKeyRead) -> Decision:
    """Another program wrote or removed the key of a running reduction."""
    name, ours = event.topic, view.reduction(event.topic)
    is_there = bool(event.at.version)
    merged = ours if event.problem is not None or not is_there else _merged(view, event, ours)
    what = "written by another program" if is_there else "removed by another program"
    said = f"{_KEY}: {event.problem or what}; the reduction goes on"
    is_written = is_there and merged == event.entries
    changed = ReductionChanged(name, merged, is_written=is_written, extra=event.extra)
    foreign = ForeignChange(name, None, said, is_rewritten=False)
    return Decision((KeyAdopted(event.at), changed, foreign), expand=_due(event) if merged != ours else ())


def _merged(view: ClusterView, event: ReductionKeyRead, ours: Retirements) -> Retirements:
    """Our entries, with the additional partitions and `immediate` flags that are accepted."""
    at_once = {p for p, one in event.entries.items() if one.immediate}
    kept = {p: attrs.evolve(one, immediate=one.immediate or p in at_once) for p, one in ours.items()}
    count = view.partition_count(event.topic)
    whole = {p: one for p, one in event.entries.items() if p not in ours} | kept
    left = [p for p in whole if not _is_gone(view, event.topic, p)]
    return kept if check_tail(event.topic, left, count) or check_size(event.topic, whole) else whole


def _missing(view: ClusterView, name: str, now_ms: int) -> dict[int, Retirement]:
    """Partitions that are not online without an entry, as if their reduction was requested now."""
    return {p: one for p, one in _begun(view, name, now_ms, {}).items() if p not in view.reduction(name)}


def reduction_due(view: ClusterView, event: ReductionDue) -> Decision:
    """An event for each partition to remove, the last one first: should the key be lost in between, those that have
    begun are still the last ones. So those below an unreadable one wait until it is readable. If a partition is not
    online without an entry, its entry was removed: the key is written with it again, if the partitions are the last
    ones."""
    name, known = event.topic, view.reduction(event.topic)
    if view.topic(name) is None or view.is_deleting(name):
        return Decision()
    missing = _missing(view, name, event.now_ms)
    entries = {**known, **missing}
    count = view.partition_count(name)
    records: tuple[Record, ...] = ()
    if missing and check_tail(name, [p for p in entries if p < count], count) is None:
        said = f"{_KEY}: named not all that are not online; written again"
        records = (ReductionChanged(name, entries), ForeignChange(name, None, said, is_rewritten=False))
    elif not known:
        return Decision()
    going = takewhile(lambda p: not view.unreadable(name, p), sorted(entries, reverse=True))
    due = [PartitionDue(event.now_ms, name, p, Reason.RETIRE) for p in going if p < count]
    ends = (PurgeDue(event.now_ms, name), ReductionKeyDue(event.now_ms, name, event.is_found))
    return Decision(records, expand=(*due, *ends))


def reduction_key_due(view: ClusterView, event: ReductionKeyDue) -> Decision:
    """The entries of purged partitions, as committed, leave the key; with the last, the key is removed. So a takeover
    before the host was notified finds them."""
    name, entries = event.topic, view.reduction(event.topic)
    purged = view.purged(name)
    gone = tuple(p for p in entries if p >= view.partition_count(name) and p not in purged)
    if view.is_deleting(name) or not gone:
        return Decision()
    left = {p: entries[p] for p in entries.keys() - set(gone)}
    return Decision((ReductionChanged(name, left, gone=gone if event.is_found else ()),))
