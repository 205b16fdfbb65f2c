"""How a checked request is carried out: in one Decision if that fits into a commit, otherwise step by step.

The order (KIP-179): the mark of topics, their lists; the mark of brokers, their rates; the moves. Replaced throttles
are removed after the mark and before the new ones are set, and the mark is reduced last. So a crash at any point leaves
nothing unmarked, and before the moves nothing runs: a takeover removes everything again.

Between its first and last Decision a request counts as running. A step whose precondition does not hold ends the
request with an error, and what it marked is removed unless something runs. A value that an operator set over a throttle
of the request is respected, before its last step as after it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Final

from ...model.errors import ApiError, ReassignmentInProgress
from ...model.events import (
    LATER,
    AlterReassignment,
    Decision,
    Event,
    Group,
    LegacyEntryDue,
    ThrottleRemovalDue,
    ThrottleRequestAborted,
    ThrottleStepDue,
)
from ...model.legacy import LegacyEntry
from ...model.records import (
    ConfigsAltered,
    LegacyPlanWritten,
    Record,
    ThrottleMarkChanged,
    ThrottleRequestBegan,
    ThrottleRequestEnded,
)
from ...model.requests import ReassignmentAnswer
from ...model.throttles import KINDS, CommitLimits, MarkKind, ThrottleMark, ThrottlePlan, ThrottleStep
from ...model.view import ClusterView
from ..reassignment import alter_reassignment
from .marks import (
    REPLACED,
    absorbed,
    back_record,
    configs_of,
    final_mark,
    joined_mark,
    mark_records,
    rejoined_records,
    released_record,
    set_record,
    stays_record,
)
from .prepared import ended_before, is_going, missing

AT_ONCE_MAX: Final = 2_000  # moves in one Decision, which is decided without a pause
_KEYS_OF_CONFIG: Final = 2  # the config and its notification
_KEYS_OF_MOVE: Final = 2
_KEY_BYTES: Final = 400  # a path, and what the store adds


def carry_out(view: ClusterView, plan: ThrottlePlan, now_ms: int, room: CommitLimits) -> Decision:
    """Carry out the plan, or begin to."""
    records = _at_once(view, plan, now_ms, room)
    if records is not None:
        return Decision(tuple(records), plan.answer)
    steps = tuple(_steps(view, plan))
    if len(steps) == 1 and steps[0].do == "begin":
        return _begin(plan, now_ms)
    return Decision((ThrottleRequestBegan(plan),), LATER, (_in_order(steps, now_ms),))


def _in_order(steps: Sequence[ThrottleStep], now_ms: int) -> Event | Group:
    """Steps with the same order in any order, each order after the one before; the last step ends the request."""
    due: Event | Group = ThrottleStepDue(now_ms, steps[-1], is_last=True)
    stages = [tuple(stage) for _, stage in groupby(steps[:-1], lambda step: step.order)]
    for stage in reversed(stages):
        due = Group(tuple([ThrottleStepDue(now_ms, step) for step in stage]), due)
    return due


# --- at once


def _at_once(view: ClusterView, plan: ThrottlePlan, now_ms: int, room: CommitLimits) -> list[Record] | None:
    """All records of the plan; None if they may exceed a commit."""
    if len(plan.moves) > AT_ONCE_MAX or len(plan.moves) * _KEYS_OF_MOVE > room.keys:
        return None
    records: list[Record] = []
    for kind in KINDS:
        if kind in plan.wanted:
            records += _throttles(view, kind, plan)
    records += _moves(view, plan, now_ms)
    return records if _fits(view, records, room) else None


def _throttles(view: ClusterView, kind: MarkKind, plan: ThrottlePlan) -> list[Record]:
    backs = [back_record(view, kind, owner, REPLACED) for owner in _replaced(view, kind, plan)]
    sets = [set_record(view, kind, owner, plan) for owner in plan.wanted[kind]]
    altered = [record for record in (*backs, *sets) if record is not None]
    mark = joined_mark(view, kind, plan) if plan.auto_remove else absorbed(view, kind)
    is_cut_down = _is_cut_down(view, kind, plan)
    if is_cut_down:
        after = {record.entity.name: record.after for record in altered}
        mark = final_mark(view, kind, mark, plan, lambda owner: after.get(owner, configs_of(view, kind, owner)))
    is_marked = plan.auto_remove or is_cut_down
    return [*(mark_records(view, kind, mark) if is_marked else ()), *altered, *_as_they_were(view, kind, plan)]


def _as_they_were(view: ClusterView, kind: MarkKind, plan: ThrottlePlan) -> Iterator[Record]:
    """Rows for owners that leave the mark without a change of their configs."""
    found: list[Record | None] = [released_record(view, kind, o, REPLACED) for o in _replaced(view, kind, plan)]
    found += [stays_record(view, kind, owner, plan) for owner in plan.wanted[kind]]
    yield from (record for record in found if record is not None)


def _is_cut_down(view: ClusterView, kind: MarkKind, plan: ThrottlePlan) -> bool:
    """Whether the mark names fewer owners once the plan is done: because some are replaced, or stay from now on."""
    is_released = not plan.auto_remove and not plan.wanted[kind].keys().isdisjoint(view.throttles.owners(kind))
    return kind in plan.replaces or is_released


def _replaced(view: ClusterView, kind: MarkKind, plan: ThrottlePlan) -> list[str]:
    """The owners whose throttles are removed because the request does not name them."""
    if kind not in plan.replaces:
        return []
    return [o for o in view.throttles.owners(kind) if o not in plan.wanted[kind] and o not in plan.spared]


def _moves(view: ClusterView, plan: ThrottlePlan, now_ms: int) -> list[Record]:
    """Each partition gets its target; the legacy key names those whose moves then run."""
    records: list[Record] = []
    running: list[LegacyEntry] = []
    for entry in plan.moves:
        decision = alter_reassignment(view, request_of(now_ms, entry))
        assert isinstance(decision.reply, ReassignmentAnswer), decision.reply
        records += decision.records
        if decision.reply.target_replicas is not None:
            running.append(entry)
    return [LegacyPlanWritten(tuple(running)), *records] if running else records


def request_of(now_ms: int, entry: LegacyEntry) -> AlterReassignment:
    """The move of an entry as a request."""
    return AlterReassignment(now_ms, entry.topic, entry.partition, entry.target)


def _fits(view: ClusterView, records: list[Record], room: CommitLimits) -> bool:
    """Whether the records fit into a commit, by upper bounds."""
    keys = size = 0
    for record in records:
        if isinstance(record, ConfigsAltered):
            keys, size = keys + _KEYS_OF_CONFIG, size + config_bytes(record.after)
        elif isinstance(record, ThrottleMarkChanged):
            keys, size = keys + 1, size + mark_bytes(record.after)
        elif isinstance(record, LegacyPlanWritten):
            keys, size = keys + 1, size + plan_bytes(record.entries)
        else:
            keys, size = keys + _KEYS_OF_MOVE, size + 2 * _KEY_BYTES
    topics = {record.after.topic for record in records if hasattr(record, "after") and hasattr(record.after, "topic")}
    for name in topics:
        size += sum(12 + 11 * len(p.replicas) for p in view.partitions_of(name))
    return keys <= room.keys and size <= room.bytes


def config_bytes(configs: Mapping[str, str]) -> int:
    """An upper bound of the bytes of configs and of their notification."""
    return 2 * _KEY_BYTES + sum(len(name) + len(value) + 8 for name, value in configs.items())


def mark_bytes(mark: ThrottleMark) -> int:
    """An upper bound of the bytes of a mark of ours."""
    size = _KEY_BYTES + sum(len(owner) + 4 for owner in mark.owners)
    for owner, configs in mark.previous.items():
        size += len(owner) + 8
        for config, kept in configs.items():
            size += len(config) + 40 + len(kept.was or "") + sum(len(value) + 3 for value in kept.set)
    return size


def plan_bytes(entries: tuple[LegacyEntry, ...]) -> int:
    """An upper bound of the bytes of the legacy key."""
    return _KEY_BYTES + sum(64 + len(entry.topic) + 11 * len(entry.target) for entry in entries)


# --- step by step


def _steps(view: ClusterView, plan: ThrottlePlan) -> Iterator[ThrottleStep]:
    order = 0
    for kind in KINDS:
        if kind not in plan.wanted:
            continue
        if plan.auto_remove:
            yield ThrottleStep(order, "mark", kind)
        for owner in _replaced(view, kind, plan):
            yield ThrottleStep(order + 1, "back", kind, owner)
        for owner in plan.wanted[kind]:
            yield ThrottleStep(order + 2, "set", kind, owner)
        if _is_cut_down(view, kind, plan):
            yield ThrottleStep(order + 3, "trim", kind)
        order += 4
    if plan.moves:
        yield ThrottleStep(order, "begin")


def step_due(view: ClusterView, event: ThrottleStepDue) -> Decision:
    """The next step; the last one ends and answers the request."""
    plan, step = view.throttles.request, event.step
    if plan is None:
        return Decision(reply=ended_before(view, step))
    if step.do in ("set", "begin", "trim") and (error := missing(view, plan, step)):
        return _abort(plan, event, error)
    if step.do == "begin":
        if view.is_reassigning:
            return _abort(plan, event, ReassignmentInProgress("another reassignment has begun meanwhile"))
        begun = _begin(plan, event.now_ms)
        return Decision((*begun.records, ThrottleRequestEnded(plan)), begun.reply, begun.expand)
    records = _records(view, plan, step)
    if not event.is_last:
        return Decision(tuple(records))
    return Decision((*records, ThrottleRequestEnded(plan)), plan.answer)


def _records(view: ClusterView, plan: ThrottlePlan, step: ThrottleStep) -> list[Record]:
    kind = step.kind
    if step.do == "mark":
        return mark_records(view, kind, joined_mark(view, kind, plan))
    if step.do == "trim":
        mark = final_mark(view, kind, absorbed(view, kind), plan, lambda owner: configs_of(view, kind, owner))
        return mark_records(view, kind, mark)
    if step.do == "back":
        record: Record | None = back_record(view, kind, step.owner, REPLACED)
        if record is None:
            record = released_record(view, kind, step.owner, REPLACED)
        return [] if record is None else [record]
    record = None if is_going(view, kind, step.owner) else set_record(view, kind, step.owner, plan)
    if record is None:
        stays = None if is_going(view, kind, step.owner) else stays_record(view, kind, step.owner, plan)
        return [] if stays is None else [stays]
    return [*(rejoined_records(view, kind, step.owner, plan) if plan.auto_remove else ()), record]


def _begin(plan: ThrottlePlan, now_ms: int) -> Decision:
    """Write the plan to the legacy key; each of its entries is due, as if a client had written it."""
    due = tuple(LegacyEntryDue(now_ms, entry.topic, entry.partition) for entry in plan.moves)
    return Decision((LegacyPlanWritten(plan.moves),), plan.answer, due)


def _abort(plan: ThrottlePlan, event: Event, error: ApiError) -> Decision:
    return Decision((ThrottleRequestEnded(plan),), error, (ThrottleRemovalDue(event.now_ms),))


def request_aborted(view: ClusterView, event: ThrottleRequestAborted) -> Decision:
    """A step was dropped: what was done so far is removed, if nothing runs."""
    plan = view.throttles.request
    return Decision() if plan is None else _abort(plan, event, ApiError("given up"))
