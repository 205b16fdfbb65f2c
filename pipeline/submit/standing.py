"""The state of a move, by what the cluster shows, in one word; and the visible causes if it is stuck.

A partition is on the replicas before its move, on those after it, or being moved there. Any other state was made by
another tool after the plan, and is never overruled. One exception: in a begun wave a partition may be in between, with
the old replicas and some of the new ones: its move was cancelled, and is submitted again.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal, TypeAlias

import attrs

from ...controller.model.values import NO_LEADER
from .cluster import Seen
from .exported import Move

Kind: TypeAlias = Literal["done", "running", "missing", "against", "foreign"]
"""`against`: the move that is to be undone still runs."""


@attrs.frozen
class Standing:
    """`words`: what is wrong with a foreign state."""

    move: Move
    seen: Seen
    kind: Kind
    words: str = ""

    def has_copied(self, broker: int) -> bool:
        """Whether the new replica on this broker is in sync."""
        return self.kind == "done" or broker in self.seen.isr

    def lacks(self, broker: int) -> bool:
        """Whether the move has not created the new replica on this broker yet."""
        return self.kind == "missing" and broker not in self.seen.replicas


def stand(move: Move, seen: Seen, *, is_begun: bool, undoes: bool) -> Standing:
    """The state of `move`. `is_begun`: it may have been submitted before; `undoes`: it belongs to a rollback."""
    if seen.problem is not None:
        return Standing(move, seen, "foreign", seen.problem)
    reached = {move.after, *move.later}
    if seen.target is not None:
        if seen.target in reached:
            return Standing(move, seen, "running")
        if undoes and seen.target == move.before:
            return Standing(move, seen, "against")
        return Standing(move, seen, "foreign", f"is being moved to {list(seen.target)} by another tool")
    if seen.replicas in reached:
        return Standing(move, seen, "done")
    in_between = is_begun and set(seen.replicas) <= {*move.before, *move.after}
    if seen.replicas == move.before or in_between:
        return Standing(move, seen, "missing")
    expected = f"the plan moves it from {list(move.before)} to {list(move.after)}"
    return Standing(move, seen, "foreign", f"has the replicas {list(seen.replicas)}: {expected}")


_NO_CONTROLLER: Final = "no controller"


def causes(standing: Standing, alive: frozenset[int], *, has_controller: bool) -> str:
    """All visible causes why a move is not complete."""
    seen, move = standing.seen, standing.move
    found = [] if has_controller else [_NO_CONTROLLER]
    waiting = [broker for broker in move.after if broker not in seen.isr]
    down = [broker for broker in waiting if broker not in alive]
    if down:
        found.append(f"target down: {ids(down)}")
    if seen.leader == NO_LEADER or seen.leader not in alive:
        found.append("source down: no leader" if seen.leader == NO_LEADER else f"source down: {seen.leader}")
    if standing.kind == "missing":
        found.append("not begun")
    elif not found:
        found.append(f"not in sync yet: {ids(waiting)}" if waiting else "in sync, not yet completed")
    return ", ".join(found)


def ids(brokers: Iterable[int]) -> str:
    """The brokers in the order of their ids."""
    return ", ".join(map(str, sorted(brokers)))
