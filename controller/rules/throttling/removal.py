"""Removal: once no reassignment runs, marked owners get back their former values (KIP-179).

It is due when the last move has ended or the legacy key is removed, and when a controller takes over. Each of its
Decisions checks again whether a reassignment runs: if so, the rest stays marked, and the end of that makes it due
again. Topics come first, then their mark; brokers, then theirs. Brokers are not involved: one that is down delays
nothing.
"""

from __future__ import annotations

import attrs

from ...model.events import (
    BrokerConfigRead,
    ConfigKeyRead,
    Decision,
    Event,
    Group,
    ThrottleBackDue,
    ThrottleMarkGoneDue,
    ThrottleRemovalDue,
    TopicKeyRead,
)
from ...model.records import Record, ThrottleRemovalBegan, ThrottleRemovalEnded
from ...model.throttles import KINDS
from ...model.view import ClusterView
from .marks import (
    REMOVAL,
    absorbed,
    back_record,
    is_there,
    is_unread,
    mark_records,
    released_record,
)


def _is_held_up(view: ClusterView) -> bool:
    return view.is_reassigning or view.throttles.request is not None


def removal_due(view: ClusterView, event: ThrottleRemovalDue) -> Decision:
    """Begin, if throttles are marked and nothing runs."""
    if _is_held_up(view) or view.throttles.is_removing or not view.throttles.is_marked:
        return Decision()
    back: list[Event] = []  # of this kind and those before it: the last mark is removed after all owners
    due: list[Event | Group] = []
    for kind in KINDS:
        back += [ThrottleBackDue(event.now_ms, kind, owner) for owner in view.throttles.owners(kind)]
        due.append(Group(tuple(back), ThrottleMarkGoneDue(event.now_ms, kind, kind == KINDS[-1])))
    return Decision((ThrottleRemovalBegan(),), expand=tuple(due))


def back_due(view: ClusterView, event: ThrottleBackDue) -> Decision:
    """Restore one owner in one Decision."""
    if _is_held_up(view) or not view.throttles.has_marked(event.kind, event.owner):
        return Decision()
    record: Record | None = back_record(view, event.kind, event.owner, REMOVAL)
    if record is None:
        record = released_record(view, event.kind, event.owner, REMOVAL)
    return Decision(() if record is None else (record,))


def mark_gone_due(view: ClusterView, event: ThrottleMarkGoneDue) -> Decision:
    """Remove the mark; owners that could not be restored stay marked."""
    records: list[Record] = []
    if not _is_held_up(view):
        mark = absorbed(view, event.kind)
        left = tuple(owner for owner in mark.owners if _is_left(view, event, owner))
        previous = {owner: mark.previous[owner] for owner in left if owner in mark.previous}
        records = mark_records(view, event.kind, attrs.evolve(mark, owners=left, previous=previous))
    if event.is_last:
        is_left_over = any(is_unread(view, k, o) for k in KINDS for o in view.throttles.owners(k))
        records.append(ThrottleRemovalEnded(is_left_over))
    return Decision(tuple(records))


def _is_left(view: ClusterView, event: ThrottleMarkGoneDue, owner: str) -> bool:
    if is_unread(view, event.kind, owner):
        return True
    return is_there(view, event.kind, owner) and back_record(view, event.kind, owner, REMOVAL) is not None


def follow(view: ClusterView, event: Event, decision: Decision, *, was_reassigning: bool) -> Decision:
    """The consequences of `decision` for throttles, once its records are applied."""
    has_ended = was_reassigning and not view.is_reassigning
    may_be_read = view.throttles.is_left_over and isinstance(event, ConfigKeyRead | BrokerConfigRead | TopicKeyRead)
    if not (has_ended or may_be_read) or not view.throttles.is_marked:
        return decision
    return attrs.evolve(decision, expand=(*decision.expand, ThrottleRemovalDue(event.now_ms)))
