"""How a checked request is carried out: it writes what it wants into the marks, and the owners are brought to them.

The order (KIP-179): the mark of topics, their lists; the mark of brokers, their rates; the moves. So a crash at any
point leaves nothing unmarked, and before the moves nothing runs: a takeover removes everything again.

Between its first and last Decision a request runs. It ends with an error if an owner could not be brought to its mark:
then what it marked is given back unless something is being reassigned. A value that an operator sets over a throttle
meanwhile is the operator's, before the moves as after their begin. Requests may run at the same time: the later one
wins, owner by owner.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import attrs

from ...model.errors import ApiError, InvalidTopic, ReassignmentInProgress, StorageError
from ...model.events import (
    LATER,
    AlterReassignment,
    Decision,
    Group,
    PartitionDue,
    Reason,
    ThrottleDue,
    ThrottlePlanDue,
    ThrottleRemovalDue,
    refuse,
)
from ...model.legacy import LegacyEntry
from ...model.records import Record
from ...model.requests import ReassignmentAnswer
from ...model.throttles import KINDS, CommitLimits, MarkKind, OwnerMark, ThrottlePlan, listed
from ...model.values import TopicPartition
from ...model.view import ClusterView
from ...records import LegacyPlanWritten, ThrottleChanged, ThrottlePlanRuns
from ..reassignment import alter_reassignment
from .due import ended_due, is_going
from .marks import is_unread, marked, unwanted, wanted

AT_ONCE_MAX: Final = 2_000  # moves in one Decision, which is decided without a pause
_KEYS_OF_RECORD: Final = 2
_KEY_BYTES: Final = 400  # a path, and what the store adds


def carry_out(view: ClusterView, plan: ThrottlePlan, now_ms: int) -> Decision:
    """Carry out the plan, or begin to."""
    return _go_on(view, plan, now_ms, tuple(kind for kind in KINDS if kind in plan.wanted))


def plan_due(view: ClusterView, event: ThrottlePlanDue) -> Decision:
    """The next kind, or the end. Before anything moves, its throttles are set."""
    plan = event.plan
    error = ApiError("the request was given up: the store refused a step") if event.is_refused else None
    error = error or next(_missing(view, plan, event.left), None)
    if error is None and plan.moves and view.is_reassigning:
        error = ReassignmentInProgress("another reassignment has begun meanwhile")
    return _go_on(view, plan, event.now_ms, event.left) if error is None else _give_up(view, plan, event.now_ms, error)


def _go_on(view: ClusterView, plan: ThrottlePlan, now_ms: int, left: Sequence[MarkKind]) -> Decision:
    """Mark the next kind that has anything to set, and have its owners brought to their marks; or end."""
    records: list[Record] = []
    for count, kind in enumerate(left):
        marks = dict(new_marks(view, kind, plan))
        records += changes(view, kind, marks)
        due = tuple(ThrottleDue(now_ms, kind, o) for o, mark in marks.items() if mark.is_pending or mark.is_replaced)
        if due:
            began = () if plan in view.throttles.running else (ThrottlePlanRuns(plan),)
            rest = ThrottlePlanDue(now_ms, plan, tuple(left[count + 1 :]))
            return Decision((*began, *records), LATER, (Group(due, rest),))
    if plan in view.throttles.running:
        records.append(ThrottlePlanRuns(plan, is_over=True))
    if plan.moves:
        return _begin(view, plan, now_ms, records)
    return Decision(tuple(records), plan.answer, ended_due(view, now_ms))


# --- marks


def new_marks(view: ClusterView, kind: MarkKind, plan: ThrottlePlan) -> Iterator[tuple[str, OwnerMark]]:
    """The marks of owners that the plan replaces, and of those that it names."""
    if kind in plan.replaces:
        marks = view.throttles.marks[kind]
        for owner in listed(kind, marks):
            if owner not in plan.wanted[kind] and owner not in plan.spared:
                yield owner, attrs.evolve(marks[owner], is_replaced=True)
    for owner in plan.wanted[kind]:
        new = None if is_going(view, kind, owner) else wanted(view, kind, owner, plan)
        if new is not None:
            yield owner, new


def changes(view: ClusterView, kind: MarkKind, marks: Mapping[str, OwnerMark]) -> Iterator[ThrottleChanged]:
    """The records for those of `marks` that differ."""
    for owner, mark in marks.items():
        if mark != view.throttles.marks[kind].get(owner):
            yield marked(view, kind, owner, mark)


def _pending(view: ClusterView, plan: ThrottlePlan, kinds: Sequence[MarkKind]) -> Iterator[tuple[MarkKind, str]]:
    """The owners that do not have yet what the plan wants of them."""
    for kind in kinds:
        for owner, configs in plan.wanted[kind].items():
            mark = view.throttles.marks[kind].get(owner)
            if mark is None or mark.configs is None or is_going(view, kind, owner):
                continue
            of = ((mark.configs[name], values) for name, values in configs.items() if name in mark.configs)
            if any(one.wanted is not None and {*values} <= {*one.wanted, *one.stays} for one, values in of):
                yield kind, owner


def _missing(view: ClusterView, plan: ThrottlePlan, left: Sequence[MarkKind]) -> Iterator[ApiError]:
    done = [kind for kind in plan.wanted if kind not in left]
    for kind, owner in _pending(view, plan, done):
        if is_unread(view, kind, owner):
            yield StorageError(f"the request was given up: the configs of {kind} {owner} cannot be read")
        else:
            yield ApiError(f"the request was given up: the throttle of {kind} {owner} could not be set")


def _give_up(view: ClusterView, plan: ThrottlePlan, now_ms: int, error: ApiError) -> Decision:
    """What is pending is never set; the rest is removed, unless something is being reassigned."""
    records: list[Record] = [ThrottlePlanRuns(plan, is_over=True)]
    for kind, owner in _pending(view, plan, tuple(plan.wanted)):
        records.append(marked(view, kind, owner, unwanted(view.throttles.marks[kind][owner])))
    return Decision(tuple(records), error, (ThrottleRemovalDue(now_ms),))


# --- moves


def _begin(view: ClusterView, plan: ThrottlePlan, now_ms: int, before: Sequence[Record]) -> Decision:
    """Begin the moves: at once if they fit into a commit. Otherwise they are written to the legacy key, and each of its
    entries is due, as if a client had written it. A move that is refused by now has an error in the answer."""
    answer, moves = dict(plan.answer), list[LegacyEntry]()
    records, running = list[Record](), list[LegacyEntry]()
    for entry in plan.moves:
        decision = _begun(view, plan, now_ms, entry)
        if isinstance(decision.reply, ApiError):
            answer[TopicPartition(entry.topic, entry.partition)] = decision.reply
            continue
        moves.append(entry)
        records += decision.records
        if isinstance(decision.reply, ReassignmentAnswer) and decision.reply.target_replicas is not None:
            running.append(entry)
    if not moves:
        return Decision(tuple(before), answer, (ThrottleRemovalDue(now_ms),))
    if len(moves) <= AT_ONCE_MAX and _fits(view, moves, len(records), plan.commit_limits):
        written = (LegacyPlanWritten(tuple(running)),) if running else ()
        return Decision((*before, *written, *records), answer)
    due = tuple(PartitionDue(now_ms, entry.topic, entry.partition, Reason.PLANNED) for entry in moves)
    return Decision((*before, LegacyPlanWritten(tuple(moves))), answer, due)


def _begun(view: ClusterView, plan: ThrottlePlan, now_ms: int, entry: LegacyEntry) -> Decision:
    """The beginning of one move. Another topic may have the name by now."""
    topic = view.topic(entry.topic)
    if topic is None or view.is_deleting(entry.topic) or topic.topic_id != plan.topic_ids[entry.topic]:
        return refuse(InvalidTopic(f"topic {entry.topic} was deleted meanwhile"))
    return alter_reassignment(view, AlterReassignment(now_ms, entry.topic, entry.partition, entry.target))


def _fits(view: ClusterView, moves: Sequence[LegacyEntry], records: int, limits: CommitLimits) -> bool:
    """Whether so many records of moves fit into a commit, by upper bounds."""
    keys = 1 + _KEYS_OF_RECORD * records
    size = plan_bytes(moves) + 2 * _KEY_BYTES * records
    for name in {entry.topic for entry in moves}:
        size += sum(12 + 11 * len(p.replicas) for p in view.partitions_of(name))
    return keys <= limits.keys and size <= limits.bytes


def plan_bytes(entries: Sequence[LegacyEntry]) -> int:
    """An upper bound of the bytes of the legacy key."""
    return _KEY_BYTES + sum(64 + len(entry.topic) + 11 * len(entry.target) for entry in entries)
