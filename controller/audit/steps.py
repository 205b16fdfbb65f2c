"""How a partition may change from one row to the next: a table from events to steps.

A step lists the values that may change, how much the leader epoch rises, and the conditions for the row alone and for
the row together with the one before. Some events have several steps (a
move is completed or cancelled): `step_of` chooses by the cause, or by the values of the row. An election is checked by
its values, not by its cause: for every cause the leader is the first of R, then T, that is in the isr.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import attrs

from . import conditions
from .standing import PartitionState, broken, shown

_VALUES: Final = ("replicas", "isr", "target", "leader", "status", "origin")
"""The values of a row; each is also the name of the rule that is broken by a change that is not allowed."""


@attrs.frozen(eq=False)
class Step:
    """`changes`: values that may differ from the row before. `epochs`: by how much the leader epoch may rise, None: by
    any amount. `alone`: condition on the row itself; `between`: on both rows. `needs_move`: a move runs before the row;
    `has_target`: one runs after it, None: as before. `strays`: the isr may have members outside R and T."""

    changes: frozenset[str] = frozenset()
    epochs: tuple[int, ...] | None = (0,)
    alone: Callable[[PartitionState], None] | None = None
    between: Callable[[PartitionState, PartitionState], None] | None = None
    needs_move: bool = False
    has_target: bool | None = None
    strays: bool = False


FIRST_LEADER: Final = Step(
    frozenset({"isr", "leader"}), None, conditions.first_leader, conditions.first_epoch, has_target=False
)
ELECTION: Final = Step(frozenset({"isr", "leader"}), (1,), conditions.leads_from_isr, conditions.elected, strays=True)
ISR_TOLD: Final = Step(frozenset({"isr"}), (0,), conditions.is_led)
DEAD_TAKEN_OUT: Final = Step(frozenset({"isr"}), (1,), conditions.is_led, conditions.dead_taken_out, strays=True)
TARGET_SET: Final = Step(frozenset({"target", "origin"}), (1,), conditions.accepted, has_target=True, strays=True)
KAFKA_MOVE: Final = Step(
    frozenset({"target", "origin", "replicas"}), (1,), conditions.kafka_accepted, has_target=True, strays=True
)
OVERRIDE: Final = Step(
    frozenset({"target"}), (1,), between=conditions.overridden, needs_move=True, has_target=True, strays=True
)
DEADLINE: Final = Step(needs_move=True, has_target=True, strays=True)
GROWTH: Final = Step(
    frozenset({"replicas"}),
    (0,),
    conditions.grown,
    conditions.grown_from,
    needs_move=True,
    has_target=True,
    strays=True,
)
COMPLETION: Final = Step(
    frozenset({"replicas", "leader"}), (1,), conditions.completes, needs_move=True, has_target=True, strays=True
)
STRAYS_JOINED: Final = Step(frozenset({"replicas"}), (1,), between=conditions.strays_joined)
STRAYS_JOINED_OFFLINE: Final = attrs.evolve(STRAYS_JOINED, epochs=(0,))
COMPLETED: Final = Step(frozenset({"target", "origin"}), (0,), needs_move=True, has_target=False, strays=True)
CANCELLED: Final = Step(
    frozenset({"target", "origin", "isr"}),
    (1,),
    between=conditions.cancelled,
    needs_move=True,
    has_target=False,
    strays=True,
)
STATUS_CHANGED: Final = Step(frozenset({"status"}), (1,), between=conditions.goes_on, strays=True)
SHRINK: Final = Step(frozenset({"isr"}), (0,), between=conditions.shrunk, has_target=False)
TAKEN_OVER: Final = Step(frozenset({"isr"}), (0,), strays=True)
TAKEN_WHOLE: Final = Step(frozenset(_VALUES), None, strays=True)

KAFKA_CAUSE: Final = "adding_replicas, removing_replicas"
WHOLE_CAUSES: Final = ("found", "readable again")


def step_of(event: str, cause: object, before: PartitionState | None, now: PartitionState) -> Step | None:
    """The step that a row takes; None for an event that is not about a partition's values."""
    chosen = _STEPS.get(event)
    return chosen(cause, before, now) if callable(chosen) else chosen


def _election(cause: object, before: PartitionState | None, now: PartitionState) -> Step:
    first = cause == "created" if before is None else not before.isr
    return FIRST_LEADER if first else ELECTION


def _isr_change(cause: object, before: PartitionState | None, now: PartitionState) -> Step:
    """A leader's request raises no epoch; a removal by the controller does."""
    if cause == "follower died":
        return DEAD_TAKEN_OUT
    told = cause == "alter_isr" or before is None or now.leader_epoch == before.leader_epoch
    return ISR_TOLD if told else DEAD_TAKEN_OUT


def _other_replicas(cause: object, before: PartitionState | None, now: PartitionState) -> Step:
    if cause != "isr outside replicas":
        return COMPLETION
    return STRAYS_JOINED_OFFLINE if now.status == 1 else STRAYS_JOINED


def _replaced(cause: object, before: PartitionState | None, now: PartitionState) -> Step:
    same = cause == "deadline replaced" if before is None else now.target == before.target
    return DEADLINE if same else OVERRIDE


_STEPS: Final[Mapping[str, Step | Callable[[object, PartitionState | None, PartitionState], Step]]] = {
    "LeaderElected": _election,
    "IsrChanged": _isr_change,
    "TargetSet": lambda cause, _, __: KAFKA_MOVE if cause == KAFKA_CAUSE else TARGET_SET,
    "TargetReplaced": _replaced,
    "ReplicasGrown": GROWTH,
    "ReplicasChanged": _other_replicas,
    "TargetCleared": lambda cause, _, __: COMPLETED if cause == "completed" else CANCELLED,
    "IsrShrunk": SHRINK,
    "StatusChanged": STATUS_CHANGED,
    "ForeignChange": lambda cause, _, __: TAKEN_WHOLE if cause in WHOLE_CAUSES else TAKEN_OVER,
}

PARTITION_EVENTS: Final = frozenset(_STEPS)


def check_step(step: Step, before: PartitionState | None, now: PartitionState, *, is_known_idle: bool) -> None:
    """Check that `now` may follow `before`. `before` None: no earlier row of the partition; `is_known_idle`: it has no
    move, because the Takeover listed all moves. Raises Broken."""
    _check_target(step, before, now, is_known_idle=is_known_idle)
    if step.alone is not None:
        step.alone(now)
    if before is not None:
        _check_unchanged(step, before, now)
        if step.between is not None:
            step.between(before, now)
    _check_strays(step, before, now)


def _check_target(step: Step, before: PartitionState | None, now: PartitionState, *, is_known_idle: bool) -> None:
    runs = _runs(before, is_known_idle=is_known_idle)
    if step.needs_move and runs is False:
        broken("move", "a running move", "none")
    if step in (TARGET_SET, KAFKA_MOVE) and runs:
        broken("move", "no running move", "one")
    if step.has_target is not None and (now.target is not None) is not step.has_target:
        broken("target", "a target" if step.has_target else "no target", now.target)
    if runs is False and step.has_target is None and step is not TAKEN_WHOLE and now.target is not None:
        broken("target", "no target", now.target)


def _runs(before: PartitionState | None, *, is_known_idle: bool) -> bool | None:
    """Whether a move runs before the row; None: unknown."""
    if before is not None:
        return before.target is not None
    return False if is_known_idle else None


def _check_unchanged(step: Step, before: PartitionState, now: PartitionState) -> None:
    for name in _VALUES:
        was, is_now = getattr(before, name), getattr(now, name)
        if was != is_now and name not in step.changes and (name != "origin" or now.target is not None):
            broken(name, f"{name} {shown(was)} as before", is_now)
    _check_epoch(step, before, now)


def _check_epoch(step: Step, before: PartitionState, now: PartitionState) -> None:
    if step.epochs is None:
        if now.leader_epoch < before.leader_epoch:
            broken("leader epoch", f"at least {before.leader_epoch}", now.leader_epoch)
        return
    if now.leader_epoch - before.leader_epoch not in step.epochs:
        expected = " or ".join(f"{before.leader_epoch + rise}" for rise in step.epochs)
        broken("leader epoch", f"{expected} (after {before.leader_epoch})", now.leader_epoch)


def _check_strays(step: Step, before: PartitionState | None, now: PartitionState) -> None:
    """Only a completion leaves the isr outside R and T, for two rows; otherwise no broker enters the isr from outside.
    An isr that was found like this in the store is repaired later (`isr outside replicas`)."""
    strays = set(now.strays)
    if not strays:
        return
    allowed = step is TAKEN_WHOLE or (step.strays and (before is None or strays <= {*before.strays}))
    if step in (COMPLETION, COMPLETED) and before is not None:
        allowed = strays <= set(before.isr)
    if not allowed:
        broken("isr", f"only members of R and T {list(now.members)}", now.isr)
