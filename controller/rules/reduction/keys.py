"""The key of a reduction as it stands in the store: found by a takeover, put, changed or removed by somebody else.

A key that names what may go is a request like any other. One that does not, that is for no topic or an internal one, or
that cannot be read, is removed, and the journal says why. Of one that is changed while it is worked off more
partitions, and that they go at once, are taken over; the rest is written again.
"""

from __future__ import annotations

import attrs

from controller.model.events import (
    Decision,
    Event,
    PurgeDue,
    ReductionDue,
    ReductionKeyDue,
    ReductionKeyRead,
    RetirementDue,
)
from controller.model.records import (
    ForeignChange,
    Record,
    ReductionChanged,
    ReductionKeyFound,
    ReductionRefused,
)
from controller.model.reductions import Retirement, Retirements
from controller.model.view import ClusterView
from controller.rules.reduction.configs import disabled
from controller.rules.reduction.requests import INTERNAL, check_size, check_tail

_KEY = "/admin/delete_topic_partitions"


def reduction_key_read(view: ClusterView, event: ReductionKeyRead) -> Decision:
    """Another tool asks for a reduction, or wrote or removed a key of ours."""
    name, known = event.topic, view.reduction_version(event.topic)
    if event.version == known:
        return Decision()
    if view.is_deleting(name):  # it goes with its topic
        return Decision((ReductionKeyFound(name, event.version, known, event.extra),))
    if view.reduction(name):
        return _changed(view, event)
    if not event.version or view.unreadable(name):
        return Decision()  # of an unreadable topic: until it is known what it has
    return _put(view, event)


def refusal(view: ClusterView, event: ReductionKeyRead) -> str | None:
    """Why a key that was not known is not worked off; None if it is."""
    name, count = event.topic, view.partition_count(event.topic)
    if event.problem is not None:
        return f"it cannot be read: {event.problem}"
    if view.topic(name) is None:
        return "there is no such topic"
    left = [p for p in event.entries if not _is_gone(view, name, p)]
    if not left:
        return None  # all is done but to remove it
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
    found = ReductionKeyFound(name, event.version, 0, event.extra)
    if reason is None:
        changed = ReductionChanged(name, {}, event.entries, is_written=bool(event.entries))
        return Decision((found, changed), expand=_due(event))
    begun = _begun(view, name, event.now_ms, event.entries)
    if not begun:
        return Decision((ReductionRefused(name, event.version, reason),))
    again = ForeignChange(name, None, f"{_KEY}: {reason}; what was begun goes on", is_rewritten=False)
    return Decision((found, ReductionChanged(name, {}, begun), again), expand=_due(event))


def _begun(view: ClusterView, name: str, now_ms: int, said: Retirements) -> dict[int, Retirement]:
    """The partitions that are not online, as the key says them; those that it does not name as if it was asked for
    now."""
    going = (p for p in view.partitions_of(name) if p.status_code and p.partition)
    return {p.partition: said.get(p.partition, Retirement(now_ms, p.is_offline)) for p in going}


def _due(event: ReductionKeyRead) -> tuple[Event, ...]:
    return (ReductionDue(event.now_ms, event.topic, is_found=True),)


def _changed(view: ClusterView, event: ReductionKeyRead) -> Decision:
    """Somebody wrote or removed the key of a reduction that runs."""
    name, ours = event.topic, view.reduction(event.topic)
    found = ReductionKeyFound(name, event.version, view.reduction_version(name), event.extra)
    merged = ours if event.problem is not None or not event.version else _merged(view, event, ours)
    what = "removed by somebody else" if not event.version else "written by somebody else"
    said = f"{_KEY}: {event.problem or what}; the reduction goes on"
    changed = ReductionChanged(name, ours, merged, is_written=bool(event.version) and merged == event.entries)
    foreign = ForeignChange(name, None, said, is_rewritten=False)
    return Decision((found, changed, foreign), expand=_due(event) if merged != ours else ())


def _merged(view: ClusterView, event: ReductionKeyRead, ours: Retirements) -> Retirements:
    """Ours, with what may go more, and what goes sooner."""
    at_once = {p for p, one in event.entries.items() if one.immediate}
    kept = {p: attrs.evolve(one, immediate=one.immediate or p in at_once) for p, one in ours.items()}
    count = view.partition_count(event.topic)
    whole = {p: one for p, one in event.entries.items() if p not in ours} | kept
    left = [p for p in whole if not _is_gone(view, event.topic, p)]
    return kept if check_tail(event.topic, left, count) or check_size(event.topic, whole) else whole


def _missing(view: ClusterView, name: str, now_ms: int) -> dict[int, Retirement]:
    """Partitions whose status nobody asked for, as far as the store says: as if it was asked for now."""
    return {p: one for p, one in _begun(view, name, now_ms, {}).items() if p not in view.reduction(name)}


def reduction_due(view: ClusterView, event: ReductionDue) -> Decision:
    """An event for every partition that goes. A status without a word in the key is one that somebody took out of it:
    the key says so again, if the partitions are the tail."""
    name, known = event.topic, view.reduction(event.topic)
    if view.topic(name) is None or view.is_deleting(name):
        return Decision()
    missing = _missing(view, name, event.now_ms)
    entries = {**known, **missing}
    count = view.partition_count(name)
    records: tuple[Record, ...] = ()
    if missing and check_tail(name, [p for p in entries if p < count], count) is None:
        said = f"{_KEY}: named not all that are not online; written again"
        records = (ReductionChanged(name, known, entries), ForeignChange(name, None, said, is_rewritten=False))
    elif not known:
        return Decision()
    due = [RetirementDue(event.now_ms, name, p) for p in sorted(entries) if p < count]
    ends = (PurgeDue(event.now_ms, name), ReductionKeyDue(event.now_ms, name, event.is_found))
    return Decision(records, expand=(*due, *ends))


def reduction_key_due(view: ClusterView, event: ReductionKeyDue) -> Decision:
    """The entries of partitions that are gone, as committed, leave the key; it goes with the last. So whoever takes
    over before the host was told finds them."""
    name, entries = event.topic, view.reduction(event.topic)
    purged = view.purged(name)
    gone = tuple(p for p in entries if p >= view.partition_count(name) and p not in purged)
    if view.is_deleting(name) or (entries and not gone):
        return Decision()
    if not entries and not view.reduction_version(name):
        return Decision()
    left = {p: entries[p] for p in entries.keys() - set(gone)}
    return Decision((ReductionChanged(name, entries, left, gone=gone if event.is_found else ()),))
