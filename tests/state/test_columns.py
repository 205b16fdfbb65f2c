"""Rows that are packed as columns are what a list of them would be."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Final

import hypothesis.strategies as st
import pytest
from hypothesis import given
from hypothesis.stateful import RuleBasedStateMachine, rule

from kedge.controller.model.values import Move, Partition
from kedge.controller.state import columns
from kedge.controller.state.columns import WIDTH, PartitionColumns, Rows, says_more

TOPIC: Final = "t"
BROKERS: Final = st.lists(st.sampled_from([0, 1, 2, 3, 4, 5, 6, 2**31 - 1]), max_size=WIDTH + 2, unique=True).map(tuple)


def _row(replicas: tuple[int, ...], isr: tuple[int, ...], leader: int, epoch: int, more: str) -> Partition:
    move = Move((7, 8), replicas, 5) if more == "move" else None
    extra = {"mine": 1} if more == "extra" else None
    return Partition(TOPIC, 0, replicas, isr, leader, epoch, move, -(more == "code"), +(more == "recovery"), extra)


MORE: Final = st.sampled_from(["", "", "", "", "move", "code", "recovery", "extra"])
ROWS: Final = BROKERS.flatmap(
    lambda replicas: st.builds(
        _row,
        st.just(replicas),
        st.one_of(
            st.just(replicas), st.permutations(replicas).map(tuple), st.permutations(replicas[1:]).map(tuple), BROKERS
        ),
        st.sampled_from([-2, -1, 0, 2**31 - 1]),
        st.sampled_from([-1, 0, 2**31 - 2**16]),
        MORE,
    )
)


def _numbered(rows: Sequence[Partition]) -> list[Partition]:
    """With the ids 0 to n-1."""
    return [Partition(r.topic, i, *(getattr(r, name) for name in FIELDS)) for i, r in enumerate(rows)]


FIELDS: Final = Partition.__match_args__[2:]


class Packed(RuleBasedStateMachine):
    """Beside a list, with so few rows kept as objects that they are dropped all the time."""

    def __init__(self) -> None:
        super().__init__()
        self.patch = pytest.MonkeyPatch()
        self.patch.setattr(columns, "LATELY_MAX", 2)
        self.rows = Rows()
        self.plain: list[Partition | None] = []
        self.ids: list[int] = []

    @rule(rows=st.lists(ROWS, min_size=1, max_size=4))
    def load(self, rows: list[Partition]) -> None:
        numbered, first = _numbered(rows), len(self.plain)
        whole = self.rows.load(TOPIC, 0, PartitionColumns.of(numbered))
        self.plain += numbered
        self.ids += range(len(rows))
        assert all(self.plain[number] == row for number, row in whole.items())
        assert {number for number, row in enumerate(numbered, first) if says_more(row)} <= whole.keys()

    @rule(row=ROWS)
    def append(self, row: Partition) -> None:
        self.rows.append(row)
        self.plain.append(row)
        self.ids.append(row.partition)

    @rule(data=st.data(), row=st.one_of(st.none(), ROWS))
    def put(self, data: st.DataObject, row: Partition | None) -> None:
        if self.plain:
            number = data.draw(st.integers(0, len(self.plain) - 1))
            if row is not None:
                row = Partition(TOPIC, self.ids[number], *(getattr(row, name) for name in FIELDS))
            self.rows[number] = self.plain[number] = row

    @rule()
    def pop(self) -> None:
        if self.plain:
            assert self.rows.pop() == self.plain.pop()
            self.ids.pop()

    @rule()
    def copied(self) -> None:
        self.rows = copy.deepcopy(self.rows)

    @rule()
    def grouped(self) -> None:
        """Not after every change: looking at all rows changes which of them are kept as objects."""
        assert list(self.rows) == self.plain
        assert [self.rows[number] for number in range(len(self.rows))] == self.plain
        numbers = range(len(self.plain))[::-1]
        assert self.rows.replicas(numbers) == [row.replicas for row in self.plain[::-1] if row is not None]
        for number, row in enumerate(self.plain):
            named = set() if row is None else {*row.replicas, *row.isr, *(row.move.target if row.move else ())}
            assert {broker for broker in (0, 1, 2, 7, 9) if self.rows.names(number, broker)} == named & {0, 1, 2, 7, 9}

    def teardown(self) -> None:
        self.grouped()
        self.patch.undo()


TestPacked = pytest.mark.slow(Packed.TestCase)


@given(st.permutations((1, 2, 3)).map(tuple))
def test_isr_like_the_replicas_is_the_same_object(replicas: tuple[int, ...]) -> None:
    """Comparing them costs nothing then."""
    rows = Rows()
    rows.append(Partition(TOPIC, 0, replicas, (*replicas,), 1, 0))
    (row,) = rows
    assert row is not None
    assert row.isr is row.replicas


@pytest.mark.slow
def test_rows_that_were_asked_for_are_forgotten_in_the_end() -> None:
    """A pass over a million partitions by number leaves no million objects."""
    rows = Rows()
    rows.load(TOPIC, 0, PartitionColumns([(1, 2)] * 50_000, [(1, 2)] * 50_000, [1] * 50_000, [0] * 50_000, {}))
    whole = Partition(TOPIC, 7, (1, 2), (1, 2), 1, 0, Move((2, 3), (1, 2), 5))
    rows[7] = whole
    assert sum(rows[number] is not None for number in range(50_000)) == 50_000
    assert len(rows._lately) < 20_000  # noqa: SLF001 - that nothing else tells
    assert rows[7] is whole


def test_a_row_that_was_kept_whole_is_what_was_written_last(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has more replicas than a column, then fewer, while other rows push it out of those kept as objects."""
    monkeypatch.setattr(columns, "LATELY_MAX", 8)
    rows = Rows()
    rows.load(TOPIC, 0, PartitionColumns([(1, 2)] * 17, [(1, 2)] * 17, [1] * 17, [0] * 17, {}))
    rows[0] = Partition(TOPIC, 0, (1, 2, 3, 4, 5), (1, 2, 3, 4), 1, 1)
    assert all(rows[number] for number in range(1, 8))
    rows[0] = after = Partition(TOPIC, 0, (1, 2, 3), (1, 2, 3), 1, 2)
    assert all(rows[number] for number in range(8, 17))
    assert rows[0] == rows.read_uncached(0) == after


def test_what_was_written_lately_is_packed_and_not_kept_whole() -> None:
    """Also where the ISR has another order than R; a partition that moves is kept."""
    rows = Rows()
    isrs = [(1, 2, 3), (3, 1), (), (1, 2, 3)]
    for number, isr in enumerate(isrs):
        rows.append(Partition(TOPIC, number, (9,), (9,), 9, 0))
        rows[number] = Partition(TOPIC, number, (1, 2, 3), isr, 1, 4)
    rows[3] = Partition(TOPIC, 3, (1, 2, 3), isrs[3], 1, 4, Move((4,), (1, 2, 3), 5))
    assert list(rows._whole) == [3]  # noqa: SLF001 - nothing else shows it but memory
    assert [row and row.isr for row in rows] == isrs
