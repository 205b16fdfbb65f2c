"""What a broker holds: replicas, leaders and running moves, as a plain count finds them."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kedge.pipeline.kernel.cluster import NOBODY, Ints
from kedge.pipeline.kernel.holding import holding

BROKERS = st.integers(0, 4)
ROWS = st.lists(st.tuples(st.lists(BROKERS, max_size=3, unique=True), st.lists(BROKERS, max_size=3, unique=True),
                          st.integers(-1, 4)), max_size=8)  # fmt: skip


def padded(lists: list[list[int]]) -> Ints:
    return np.array([(one + [NOBODY] * 3)[:3] for one in lists], np.int64).reshape(-1, 3)


@given(ROWS, BROKERS)
def test_held_led_and_incoming_are_those_of_a_count(rows: list[tuple[list[int], list[int], int]], broker: int) -> None:
    replicas, targets, leaders = (list(column) for column in zip(*rows, strict=True)) if rows else ([], [], [])
    held, led, coming = holding(broker, padded(replicas), padded(targets), np.array(leaders, np.int64))
    assert held.tolist() == [broker in one for one in replicas]
    assert led.tolist() == [broker == one for one in leaders]
    assert coming.tolist() == [broker in new and broker not in old for old, new, _ in rows]


def test_a_broker_that_is_not_there_holds_nothing() -> None:
    """It has the number of an empty place, and of the leader of a partition without one."""
    found = holding(NOBODY, padded([[1]]), padded([[]]), np.array([NOBODY]))
    assert [one.tolist() for one in found] == [[False]] * 3
