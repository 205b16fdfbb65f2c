"""A commit that was sent twice ended in a conflict: the commit after it is followed by what happens to itself alone."""

from __future__ import annotations

import pytest

from kedge.controller.runtime.committer import End
from kedge.stores import MemoryStore
from kedge.stores.base import ABSENT, Put
from kedge.stores.faults import DeliverLater, FailBefore, LoseReply, LoseRequest, Rule
from kedge.stores.recipes import TOKEN_KEY
from tests.runtime.test_committer import KEY, Bench

NEXT = "/next"


def sent_twice() -> Bench:
    """The first sending was lost, another client wrote the key, and the second sending met that: it is not known yet
    whether this is true."""
    bench = Bench()
    bench.store.play([Rule(LoseRequest(), key=KEY, nth=1)])
    bench.begin()
    assert bench.committer.try_once().end is End.IN_FLIGHT
    MemoryStore(bench.server).commit([Put(KEY, b"theirs", ABSENT)], timeout_s=1)
    assert bench.committer.try_once().end is End.IN_FLIGHT
    return bench


def after_a_conflict() -> Bench:
    """It was true."""
    bench = sent_twice()
    assert bench.end() is End.CONFLICT
    return bench


@pytest.mark.parametrize("fault", [LoseReply(), LoseRequest(), FailBefore(), DeliverLater(before_commit=1)])
def test_whatever_becomes_of_its_reply_the_next_commit_is_applied(
    fault: LoseReply | LoseRequest | FailBefore | DeliverLater,
) -> None:
    """Once: the conflict of the commit before it is no answer to it."""
    bench = after_a_conflict()
    bench.store.play([Rule(fault, key=NEXT, nth=1)])
    bench.committer.begin([Put(NEXT, b"1", ABSENT)])
    assert bench.end() is End.APPLIED
    entry = bench.store.inner.get(NEXT, timeout_s=1)
    assert entry is not None
    assert (entry.value, entry.generation) == (b"1", 0)


def test_a_conflict_of_the_next_commit_is_believed_at_once() -> None:
    """It was sent once only, so no token has to be read."""
    bench = after_a_conflict()
    MemoryStore(bench.server).commit([Put(NEXT, b"theirs", ABSENT)], timeout_s=1)
    before = len(bench.store.calls)
    bench.committer.begin([Put(NEXT, b"1", ABSENT)])
    result = bench.committer.try_once()
    assert (result.end, result.index) == (End.CONFLICT, 0)
    assert [call.name for call in list(bench.store.calls)[before:]] == ["commit"]


def test_the_conflict_is_believed_though_the_token_cannot_be_read_for_a_while() -> None:
    """Nothing is sent a third time."""
    bench = sent_twice()
    sent = bench.store.commits
    bench.store.play([Rule(FailBefore(), "get", key=TOKEN_KEY, nth=1)])
    assert bench.committer.try_once().end is End.IN_FLIGHT
    assert bench.end() is End.CONFLICT
    assert bench.store.commits == sent
