"""The subject of the rules: a rig, and its committed state; and the error of a violation."""

from __future__ import annotations

from ...codec import keys
from ...model.values import Partition
from ..committed import CommittedTree
from ..parts import Parts


class InvariantBroken(AssertionError):
    """An invariant was violated. `number`: which one of `kedge.controller.rig.invariants`."""

    def __init__(self, number: int, message: str) -> None:
        super().__init__(f"invariant {number}: {message}")
        self.number = number


class Rules:
    """Rules about a rig and its committed state."""

    def __init__(self, rig: Parts) -> None:
        self.rig = rig

    @property
    def committed(self) -> CommittedTree:
        return self.rig.committed

    def require(self, holds: object, number: int, what: str) -> None:
        """Raises InvariantBroken unless `holds`."""
        if not holds:
            where = f"seed {self.rig.seed}, at {self.rig.clock.elapsed_ms} ms"
            raise InvariantBroken(number, f"{what} ({where})")


def topic_of_state(key: str) -> str | None:
    """The topic of a state key; None for any other key."""
    of = keys.partition_of(key)
    return None if of is None else of[0]


def words(p: Partition | None) -> str:
    if p is None:
        return "nothing"
    move = "" if p.move is None else f" T {list(p.move.target)}"
    return f"R {list(p.replicas)} I {list(p.isr)}{move} leader {p.leader}/{p.leader_epoch}"
