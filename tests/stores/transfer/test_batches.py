"""Ops cut into commits: in order, none lost, each within what the store declares."""

from __future__ import annotations

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kedge.stores import ABSENT, MemoryServer, Op, Put, TooLarge
from kedge.stores.base import Check, Version
from kedge.stores.checks import op_bytes
from kedge.stores.transfer import batches, check_fits

SMALL = attrs.evolve(MemoryServer().capabilities, value_bytes_max=500, commit_ops_max=7, commit_bytes_max=2000)


@given(st.lists(st.integers(0, 500), max_size=60))
def test_every_commit_fits_and_no_op_is_lost(sizes: list[int]) -> None:
    """The order stays; nothing but an op alone is over half of the bytes."""
    ops: list[Op] = [Put(f"/k{number}", b"x" * size, ABSENT) for number, size in enumerate(sizes)]
    check_fits(ops, SMALL)
    cut = list(batches(ops, SMALL))
    assert [op for batch in cut for op in batch] == ops
    assert all(1 <= len(batch) <= SMALL.commit_ops_max for batch in cut)
    assert all(len(batch) == 1 or sum(map(op_bytes, batch)) <= SMALL.commit_bytes_max // 2 for batch in cut)


def test_each_commit_begins_with_its_guard_and_fits_with_it() -> None:
    """What guards counts against what the store takes."""
    guard = (Check("/mark", Version(3)),)
    cut = list(batches([Put(f"/k{number}", b"x" * 90, ABSENT) for number in range(30)], SMALL, guard))
    assert [batch[0] for batch in cut] == [*guard] * len(cut)
    assert sum(len(batch) - 1 for batch in cut) == 30
    assert all(len(batch) <= SMALL.commit_ops_max for batch in cut)
    assert all(sum(map(op_bytes, batch)) <= SMALL.commit_bytes_max // 2 for batch in cut)


def test_what_does_not_fit_even_alone_is_named() -> None:
    """By its value, or by its key and value together."""
    narrow = attrs.evolve(SMALL, commit_bytes_max=300)
    for capabilities, size in ((SMALL, 501), (narrow, 300)):
        with pytest.raises(TooLarge, match="/big: ") as caught:
            check_fits([Put("/small", b"", ABSENT), Put("/big", b"x" * size, ABSENT)], capabilities)
        assert caught.value.key == "/big"
