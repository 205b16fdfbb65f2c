"""The rows of leader epochs that rise after a move to another store."""

from __future__ import annotations

import pytest

from kedge.controller.model import events as e
from kedge.controller.model.values import Move, Partition
from tests.journal.legal import first_illegal
from tests.journal.told import Row, Told


def rows() -> list[Row]:
    """orders-0 and run-0, which moves, are raised; then orders-0 begins to move."""
    told = Told()
    told.world.plant(Partition("run", 0, (1, 2), (1, 2), 1, 3, Move((2, 3), (1, 2), 900)))
    told.world.state.migration_version = 5
    told.take_over()
    told.tell(e.LeaderEpochsDue(0, "orders", (0,)), "migration")
    told.tell(e.LeaderEpochsDue(0, "run", (0,)), "migration")
    told.tell(e.MigrationDone(0), "migration")
    told.reassign((4, 5, 6))
    return told.rows


def test_leader_epochs_that_rise_by_one_and_nothing_else_are_legal() -> None:
    found = rows()
    assert [row["event"] for row in found] == [
        "Takeover",
        "LeaderEpochRaised",
        "LeaderEpochRaised",
        "KeysRewritten",
        "TargetSet",
    ]
    assert first_illegal(found) is None


@pytest.mark.parametrize(
    "said,rule", [({"leader_epoch": 9}, "leader epoch"), ({"isr": [1]}, "isr"), ({"leader": 2}, "leader")]
)
def test_whatever_else_changes_with_it_is_illegal(said: Row, rule: str) -> None:
    """run-0 is known from the Takeover: its row is held against what stands there."""
    found = rows()
    found[2].update(said)
    told = first_illegal(found)
    assert told is not None
    assert (told[0], told[1].rule) == (2, rule)
