"""The writer: how rows are numbered and chained, and what becomes of it when the sink refuses."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Sequence
from hashlib import sha256
from itertools import pairwise

import pytest

from kedge.controller import records as r
from kedge.controller.runtime.journal import CallableSink
from kedge.controller.runtime.journal.journal import CONFLICTS_MAX
from tests.journal.told import Row, Told


class Disk:
    """What a callable of a host's may be: keeps lines while there is room, raises when there is none."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.is_full = False

    def take(self, lines: Sequence[str]) -> None:
        if self.is_full:
            raise OSError(28, "No space left on device")
        self.lines += lines

    @property
    def rows(self) -> list[Row]:
        return [json.loads(line) for line in self.lines]


def check_chain(lines: Iterable[str]) -> None:
    for before, line in pairwise(lines):
        assert json.loads(line)["prev"] == sha256(before.encode()).hexdigest()


def test_each_line_carries_the_hash_of_the_one_before(told: Told) -> None:
    """`prev` is the sha256 of the bytes of the previous line, without its line end; a Takeover has none."""
    told.move()
    assert "prev" not in told.rows[0]
    check_chain(told.memory.lines)


def test_chain_restarts_with_each_takeover(told: Told) -> None:
    """A term stands alone: its first line refers to nothing that another controller wrote."""
    told.reassign((4, 5, 6))
    told.journal.resigned(2000, "lost")
    told.world.state.controller_epoch = 8
    told.seq = 60
    told.take_over()
    assert [(row["epoch"], row["seq"], row["event"]) for row in told.rows] == [
        (7, 41, "Takeover"),
        (7, 42, "TargetSet"),
        (7, 42, "Resigned"),
        (8, 60, "Takeover"),
    ]
    assert "prev" not in told.rows[-1]


def test_the_last_row_of_a_commit_counts_its_rows(told: Told) -> None:
    """Where a commit ends, and that nothing of it is missing, is read from its last line."""
    told.move()
    assert [(row["seq"], row["rows"]) for row in told.rows if "rows" in row] == [
        (41, 1),
        (42, 1),
        (43, 2),
        (44, 2),
        (45, 8),
    ]


def test_the_end_of_a_term_is_numbered_after_the_rows_of_its_last_commit(told: Told) -> None:
    """Resigned belongs to no commit: it has the last seq, the next row, and is a whole of its own."""
    told.reassign((4, 5, 6))
    told.journal.resigned(2000, "lost")
    last = told.rows[-1]
    assert (last["event"], last["seq"], last["row"], last["rows"], last["cause"]) == ("Resigned", 42, 1, 1, "lost")


def test_records_without_a_row_of_their_own_give_one_keys_rewritten(told: Told) -> None:
    """No seq is missing in silence: a commit of bookkeeping only has a row that says there was one."""
    told.write(r.DeathWorkedOff(3, 1), cause="death done")
    told.write(r.DeathWorkedOff(3, 1), r.KeysRewritten("orders"))
    assert [(row["seq"], row["event"], row.get("cause")) for row in told.rows[1:]] == [
        (42, "KeysRewritten", "death done"),
        (43, "KeysRewritten", None),
    ]


def test_a_commit_in_which_nothing_happened_has_no_row(told: Told) -> None:
    """The token alone was written: there is nothing to tell."""
    told.write()
    told.journal.commit(43, 1, [], told.world.state.partition_epoch)
    assert len(told.rows) == 1


def test_conflicts_stand_before_the_commit_that_they_held_up(told: Told) -> None:
    """A conflict is reported with the commit that succeeded at last: the key, and how often it happened."""
    told.journal.conflict("/brokers/topics/orders", 1)
    told.journal.conflict("/brokers/topics/orders", 2)
    told.reassign((4, 5, 6))
    told.write(r.KeysRewritten("orders"))
    assert [(row["seq"], row["row"], row["event"], row.get("detail")) for row in told.rows[1:]] == [
        (42, 0, "Conflict", {"key": "/brokers/topics/orders", "count": 2}),
        (42, 1, "TargetSet", None),
        (43, 0, "KeysRewritten", None),
    ]


def test_conflicts_without_a_later_commit_are_reported_at_the_end_of_the_term(told: Told) -> None:
    """A term that ends in a conflict says so, and the next one does not hear of it."""
    told.journal.conflict("/k", 3)
    told.journal.resigned(2000, "lost")
    told.take_over()
    assert [row["event"] for row in told.rows] == ["Takeover", "Conflict", "Resigned", "Takeover"]


def test_remembered_conflicts_are_bounded(told: Told) -> None:
    """Conflicts on ever new keys cannot fill the memory of a controller that commits nothing."""
    for i in range(CONFLICTS_MAX + 5):
        told.journal.conflict(f"/k{i}", 1)
    told.journal.resigned(2000, "lost")
    assert len(told.rows) == 1 + CONFLICTS_MAX + 1


def test_outside_of_a_term_nothing_is_written() -> None:
    """What a controller does that does not lead is not in the journal."""
    told = Told()
    told.journal.conflict("/k", 1)
    told.journal.resigned(1, "never led")
    told.write(r.KeysRewritten("orders"))
    told.journal.close()
    assert told.rows == []


def test_a_full_disk_stops_the_journal_and_not_the_controller(caplog: pytest.LogCaptureFixture) -> None:
    """Nothing is raised; what was lost is counted, `stopped` says why, and the log says it once."""
    disk = Disk()
    told = Told(CallableSink(disk.take))
    told.take_over()
    disk.is_full = True
    with caplog.at_level(logging.WARNING):
        told.move()
    journal = told.journal
    assert (journal.commits_lost, journal.rows_lost, journal.lines_written) == (4, 13, 1)
    assert journal.stopped == "OSError: [Errno 28] No space left on device"
    assert [record.getMessage() for record in caplog.records] == [
        "the journal stopped at epoch 7, seq 42: OSError: [Errno 28] No space left on device"
    ]


def test_a_gap_row_marks_the_place_where_the_journal_goes_on() -> None:
    """The first commit after an outage begins with what was missed, and the chain holds across it."""
    disk = Disk()
    told = Told(CallableSink(disk.take))
    told.take_over()
    disk.is_full = True
    told.move()
    disk.is_full = False
    told.write(r.KeysRewritten("orders"))
    told.write(r.KeysRewritten("orders"))
    assert [(row["seq"], row["row"], row["event"]) for row in disk.rows[1:]] == [
        (46, 0, "Gap"),
        (46, 1, "KeysRewritten"),
        (47, 0, "KeysRewritten"),
    ]
    assert disk.rows[1]["detail"] == {
        "first": {"controller_epoch": 7, "seq": 42},
        "commits": 4,
        "rows": 13,
        "why": "OSError: [Errno 28] No space left on device",
    }
    assert told.journal.stopped is None
    check_chain(disk.lines)


def test_a_term_whose_takeover_was_lost_begins_with_the_gap() -> None:
    """The chain of such a term begins at its Gap row, which has no `prev`."""
    disk = Disk()
    disk.is_full = True
    told = Told(CallableSink(disk.take))
    told.take_over()
    disk.is_full = False
    told.write(r.KeysRewritten("orders"))
    assert [(row["event"], "prev" in row) for row in disk.rows] == [("Gap", False), ("KeysRewritten", True)]


def test_gap_that_outlives_its_term_is_reported_after_the_next_takeover() -> None:
    """The Takeover stays the first line of its term."""
    disk = Disk()
    told = Told(CallableSink(disk.take))
    told.take_over()
    disk.is_full = True
    told.write(r.KeysRewritten("orders"))
    told.journal.resigned(2000, "lost")
    disk.is_full = False
    told.world.state.controller_epoch = 8
    told.take_over()
    assert [(row["epoch"], row["event"]) for row in disk.rows] == [(7, "Takeover"), (8, "Takeover"), (8, "Gap")]
    assert disk.rows[-1]["detail"]["first"] == {"controller_epoch": 7, "seq": 42}
    assert disk.rows[-1]["detail"]["commits"] == 2


def test_whatever_a_callable_raises_stays_inside() -> None:
    """A defect of the host's callable is treated as a full disk is."""

    def broken(_: Sequence[str]) -> None:
        raise KeyError("a defect of the host's")

    told = Told(CallableSink(broken))
    told.take_over()
    told.move()
    assert told.journal.stopped == 'KeyError: "a defect of the host\'s"'
