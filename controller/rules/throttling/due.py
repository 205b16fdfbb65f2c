"""Bringing owners to their marks: one step for requests, removals, takeovers and configs that can be read again.

The step looks at the mark and the present configs of one owner, and changes both in one commit. Doing it again changes
nothing. A throttle is given back once no reassignment runs (KIP-179): a move that begins before a step keeps what is
left until it has ended, and so does a request that is being carried out. Topics come first. Brokers are not involved:
one that is down delays nothing.
"""

from __future__ import annotations

import attrs

from ...model.events import (
    BrokerConfigRead,
    ConfigKeyRead,
    Decision,
    Event,
    ThrottleDue,
    ThrottleRemovalDue,
    TopicKeyRead,
)
from ...model.throttles import KINDS, MarkKind, OwnerMark, owners
from ...model.view import ClusterView
from ...records import ThrottlesEnded
from .marks import REMOVAL, REPLACED, brought, given_back, is_there, is_unread, marked, unmarked


def throttle_due(view: ClusterView, event: ThrottleDue) -> Decision:
    """The step. What cannot be read stays marked, and is due again once it can be; a throttle that was replaced
    meanwhile ends with the moves."""
    kind, owner = event.kind, event.owner
    mark = view.throttles.marks[kind].get(owner)
    if mark is None:
        return Decision()
    if is_unread(view, kind, owner):
        kept = marked(view, kind, owner, attrs.evolve(mark, is_replaced=False))
        return Decision((kept,) if mark.is_replaced else ())
    if not is_there(view, kind, owner):
        return Decision(unmarked(view, kind, owner))
    if mark.is_replaced:
        return Decision((given_back(view, kind, owner, mark, REPLACED),))
    if mark.is_ended and not _is_held_up(view):
        return Decision((given_back(view, kind, owner, mark, REMOVAL),))
    if mark.is_pending and not is_going(view, kind, owner):
        return Decision((brought(view, kind, owner, mark),))
    return Decision()


def is_going(view: ClusterView, kind: MarkKind, owner: str) -> bool:
    """Whether the owner is a topic that is being deleted: it gets no throttle any more, and loses its mark."""
    return kind == "topics" and (view.topic(owner) is None or view.is_deleting(owner))


def _is_held_up(view: ClusterView) -> bool:
    return view.is_reassigning or bool(view.throttles.running)


def removal_due(view: ClusterView, event: ThrottleRemovalDue) -> Decision:
    """What is pending is due; if nothing is being reassigned, all that is marked."""
    if view.is_reassigning:
        return Decision(expand=_due(view, event.now_ms))
    marks = view.throttles.marks
    every = tuple(ThrottleDue(event.now_ms, kind, owner) for kind in KINDS for owner in owners(kind, marks[kind]))
    return Decision((ThrottlesEnded(),) if view.throttles.is_marked else (), expand=every)


def ended_due(view: ClusterView, now_ms: int) -> tuple[ThrottleDue, ...]:
    """The steps that a request held up, which ends now."""
    return () if view.is_reassigning else _due(view, now_ms)


def _due(view: ClusterView, now_ms: int) -> tuple[ThrottleDue, ...]:
    marks = view.throttles.marks
    due = ((kind, owner) for kind in KINDS for owner in owners(kind, marks[kind]) if _is_due(marks[kind][owner]))
    return tuple(ThrottleDue(now_ms, kind, owner) for kind, owner in due)


def _is_due(mark: OwnerMark) -> bool:
    return mark.is_pending or mark.is_ended


def add_consequences(view: ClusterView, event: Event, decision: Decision, *, was_reassigning: bool) -> Decision:
    """What `decision` means for throttles, once its records are applied: the last reassignment has ended, or configs
    can be read again."""
    due: list[Event] = []
    if was_reassigning and not view.is_reassigning and view.throttles.is_marked:
        due.append(ThrottleRemovalDue(event.now_ms))
    elif (owner := _read(event)) is not None:
        kind, name = owner
        mark = view.throttles.marks[kind].get(name)
        if mark is not None and _is_due(mark):
            due.append(ThrottleDue(event.now_ms, kind, name))
    return attrs.evolve(decision, expand=(*decision.expand, *due)) if due else decision


def _read(event: Event) -> tuple[MarkKind, str] | None:
    """The owner whose configs the event holds."""
    if isinstance(event, BrokerConfigRead) and event.kind == "brokers":
        return "brokers", event.name
    if isinstance(event, ConfigKeyRead):
        return "topics", event.topic
    return ("topics", event.name) if isinstance(event, TopicKeyRead) else None
