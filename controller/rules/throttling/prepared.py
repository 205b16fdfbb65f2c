"""Whether the preconditions of a step of a throttled request hold, and the error if not.

A value that an operator set over a throttle of the request is respected, before its last step as after it. A throttle
that was never set, because the store refused the step, must not be mistaken for that: the moves would be unlimited.
"""

from __future__ import annotations

from ...model.errors import ApiError, StorageError
from ...model.throttles import KINDS, MarkKind, ThrottlePlan, ThrottleStep
from ...model.view import ClusterView
from .keeping import values_in
from .marks import is_there, is_unread, kept_of, set_record


def missing(view: ClusterView, plan: ThrottlePlan, step: ThrottleStep) -> ApiError | None:
    """The precondition of the step that does not hold: a throttle must be marked, and set before anything moves.
    Nothing is set over unreadable configs."""
    if step.do == "set":
        if is_going(view, step.kind, step.owner):
            return None
        is_marked = not plan.auto_remove or _is_marked(view, plan, step.kind, step.owner)
        return _unread(view, step, step.kind, step.owner) or (
            None if is_marked else _given_up(step, "it is not marked")
        )
    kinds = KINDS if step.do == "begin" else (step.kind,)
    wanted = ((kind, owner) for kind in kinds for owner in plan.wanted.get(kind, ()))
    found = (_unset(view, plan, step, *one) for one in wanted if not is_going(view, *one))
    return next((error for error in found if error is not None), None)


def _unread(view: ClusterView, step: ThrottleStep, kind: MarkKind, owner: str) -> ApiError | None:
    if not is_unread(view, kind, owner):
        return None
    return StorageError(_given_up(step, f"the configs of {kind} {owner} cannot be read").message)


def _unset(view: ClusterView, plan: ThrottlePlan, step: ThrottleStep, kind: MarkKind, owner: str) -> ApiError | None:
    """Why the owner has neither its throttle nor a value that was set over it."""
    if error := _unread(view, step, kind, owner):
        return error
    record = set_record(view, kind, owner, plan)
    if record is None:
        return None
    for config in plan.wanted[kind][owner]:
        present = record.before.get(config)
        if record.after.get(config) != present and not _is_set_over(view, kind, owner, config, present):
            return _given_up(step, f"{config} of {kind} {owner} is {present!r:.300}, not the throttle")
    return None


def _is_set_over(view: ClusterView, kind: MarkKind, owner: str, config: str, present: str | None) -> bool:
    """Whether another value was set since the mark was written. A value from before, or an earlier throttle of ours,
    may also mean that the step which sets it was dropped."""
    kept = kept_of(view, kind, owner).get(config)
    return kept is not None and present != kept.was and not set(values_in(config, present)) & set(kept.set)


def is_going(view: ClusterView, kind: MarkKind, owner: str) -> bool:
    """A topic that is deleted meanwhile loses its mark, and is skipped: the others are throttled and moved."""
    return not is_there(view, kind, owner) or (kind == "topics" and view.is_deleting(owner))


def _is_marked(view: ClusterView, plan: ThrottlePlan, kind: MarkKind, owner: str) -> bool:
    wanted = plan.wanted[kind][owner]
    return owner in view.throttles.mark(kind).owners and wanted.keys() <= kept_of(view, kind, owner).keys()


def ended_before(view: ClusterView, step: ThrottleStep) -> ApiError:
    """The answer if an earlier step ended the request. Unreadable configs stay marked, so they are still known."""
    marked = ((kind, owner) for kind in KINDS for owner in view.throttles.owners(kind))
    found = (_unread(view, step, *one) for one in marked)
    reason = "an earlier step could not be done"
    return next((error for error in found if error is not None), _given_up(step, reason))


def _given_up(step: ThrottleStep, why: str) -> ApiError:
    return ApiError(f"the request was given up at its step {step.do!r}: {why}")
