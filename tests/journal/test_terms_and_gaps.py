"""A trace over several terms, and over rows that are missing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kedge.controller.audit import Trace
from tests.journal.legal import first_illegal, rows, values
from tests.journal.told import Row

# --- lines that are missing


def _with_gap(epoch: int) -> list[Row]:
    """The move began in lines that were lost."""
    found = rows()
    lost = {"first": {"controller_epoch": epoch, "seq": 42}, "commits": 1, "rows": 2, "why": "disk full"}
    found[1] = {"epoch": 7, "seq": 42, "row": 0, "ts": 1, "event": "Gap", "detail": lost, "rows": 1}
    del found[2]
    return found


def test_after_a_gap_partitions_are_taken_as_their_next_rows_say() -> None:
    """A move whose beginning was lost goes on; intents whose opening was lost are closed."""
    assert first_illegal(_with_gap(7)) is None


def test_a_gap_of_a_former_term_hides_nothing_of_this_one() -> None:
    """It is reported after the Takeover, which lists all that is in flight."""
    told = first_illegal(_with_gap(6))
    assert told is not None
    assert (told[0], told[1].rule) == (2, "target")


def test_a_term_whose_first_rows_are_gone_is_replayed_from_where_it_goes_on() -> None:
    """Old files of a journal are removed: that is no illegal row, and what follows is held together all the same."""
    found = rows()[7:]
    trace = Trace()
    trace.lost()
    assert [trace.feed(row) for row in found] == [None] * len(found)
    trace = Trace()
    trace.lost()
    shrunk = next(place for place, row in enumerate(found) if row["event"] == "IsrShrunk")
    found[shrunk]["isr"] = [4, 5, 6, 3]
    assert [bool(trace.feed(row)) for row in found[: shrunk + 1]] == [False] * shrunk + [True]


def test_rows_that_are_lost_in_the_middle_are_made_known_by_the_reader() -> None:
    """With a file missing between two, what is known is what comes after it."""
    found, trace = rows(), Trace()
    assert not any(trace.feed(row) for row in found[:3])
    trace.lost()
    assert not any(trace.feed(row) for row in found[7:])


# --- several terms


def _next_term(**changes: Any) -> list[Row]:
    """What another controller writes after the first one resigned: orders-0 gets a leader."""
    takeover = rows()[0] | {"epoch": 8, "seq": 81}
    takeover["detail"] = takeover["detail"] | {"moves": [], "intents": []}
    elected = {"epoch": 8, "seq": 82, "row": 0, "ts": 1, "event": "LeaderElected", "cause": "leader died", "rows": 1}
    return [takeover, elected | values(leader=-1, leader_epoch=13) | changes]


def test_a_term_follows_on_the_one_before_it() -> None:
    """Controller epochs, seq and leader epochs go on; what was in flight is what the new Takeover lists."""
    assert first_illegal([*rows(), *_next_term()]) is None


@pytest.mark.parametrize(
    "change,rule",
    [
        (lambda found: found[1].update(leader_epoch=11), "leader epoch"),
        (lambda found: [row.update(epoch=6) for row in found], "term"),
        (lambda found: [row.update(seq=row["seq"] - 40) for row in found], "numbering"),
        (lambda found: found[0]["detail"].update(moves=[values(target=[6], leader_epoch=3)]), "leader epoch"),
    ],
    ids=["leader epoch", "controller epoch", "seq", "leader epoch of a move"],
)
def test_what_goes_back_from_one_term_to_the_next_is_illegal(change: Callable[[list[Row]], object], rule: str) -> None:
    """Epochs and numbers never go back, also not with another controller."""
    later = _next_term()
    change(later)
    told = first_illegal([*rows(), *later])
    assert told is not None
    assert told[1].rule == rule
