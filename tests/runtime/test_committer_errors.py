"""What a commit waits for, what it hears when it ends, and the errors that no repetition mends."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from kedge.controller.runtime.clock import IdSource
from kedge.controller.runtime.committer import Committer, End, Result
from kedge.stores import MemoryStore
from kedge.stores.base import (
    ABSENT,
    Closed,
    Commit,
    Conflict,
    Corrupt,
    Entry,
    InvalidKey,
    Op,
    OutcomeUnknown,
    Put,
    SessionExpired,
    StoreError,
    TooLarge,
    Unauthorized,
    Unavailable,
)
from kedge.stores.recipes import EPOCH_KEY, TOKEN_KEY
from tests.runtime.test_committer import KEY, Bench, won


class Answering(MemoryStore):
    """A store whose commits and reads of the token raise what a test wants. `waits_s`: how long each was given."""

    def __init__(self, bench: Bench) -> None:
        super().__init__(bench.server)
        self.commits: list[StoreError | None] = []
        self.reads: list[StoreError | None] = []
        self.waits_s: list[tuple[str, float]] = []

    def commit(self, ops: Sequence[Op], *, timeout_s: float) -> Commit:
        self._answer("commit", self.commits, timeout_s)
        return super().commit(ops, timeout_s=timeout_s)

    def get(self, key: str, *, sync: bool = False, timeout_s: float) -> Entry | None:
        if key == TOKEN_KEY:
            self._answer("read", self.reads, timeout_s)
        return super().get(key, sync=sync, timeout_s=timeout_s)

    def another_session(self) -> MemoryStore:
        return _Reading(self)

    def _answer(self, kind: str, errors: list[StoreError | None], timeout_s: float) -> None:
        self.waits_s.append((kind, timeout_s))
        error = errors.pop(0) if errors else None
        if error is not None:
            raise error


class _Reading(MemoryStore):
    """A session for the token, which answers as the store that it comes from."""

    def __init__(self, origin: Answering) -> None:
        super().__init__(origin.server)
        self._origin = origin

    def get(self, key: str, *, sync: bool = False, timeout_s: float) -> Entry | None:
        return self._origin.get(key, sync=sync, timeout_s=timeout_s)


def begun(*commits: StoreError | None, reads: Sequence[StoreError | None] = ()) -> tuple[Bench, Answering]:
    """A commit that was begun, and the errors that await it."""
    bench = Bench()
    store = Answering(bench)
    bench.committer = Committer(store, bench.committer._fence, bench.clock, IdSource(2))  # noqa: SLF001 - of the term
    bench.begin()
    store.commits, store.reads = list(commits), list(reads)
    store.waits_s.clear()
    return bench, store


@pytest.mark.parametrize(
    "error", [Unauthorized("not yours"), InvalidKey("no key"), SessionExpired("it ended"), Closed("closed")]
)
def test_an_error_that_no_repetition_mends_ends_the_term_at_once(error: StoreError) -> None:
    bench, store = begun(error)
    assert bench.committer.try_once() == Result(End.DEPOSED, why=str(error))
    assert not bench.committer.is_in_flight
    assert [kind for kind, _ in store.waits_s] == ["commit"]


def test_an_error_of_the_look_up_does_not_end_the_term() -> None:
    """The commit may have been applied, so its outcome is asked for until the deadline."""
    bench, _ = begun(OutcomeUnknown("lost"), reads=[Unauthorized("not yet")])
    assert bench.committer.try_once() == Result(End.IN_FLIGHT, why="lost")
    assert bench.committer.try_once() == Result(End.IN_FLIGHT, why="not yet")
    assert bench.end() is End.APPLIED


@pytest.mark.parametrize("error", [SessionExpired("it ended"), Closed("closed"), Corrupt("no token")])
def test_an_error_of_the_look_up_that_leaves_no_way_to_find_the_outcome_ends_the_term(error: StoreError) -> None:
    """A token that is neither the one before nor this commit's own was written by no controller that leads."""
    bench, _ = begun(OutcomeUnknown("lost"), reads=[error])
    assert bench.committer.try_once().end is End.IN_FLIGHT
    assert bench.committer.try_once() == Result(End.DEPOSED, why=str(error))


def test_a_token_that_cannot_be_read_ends_the_term_and_is_the_reason() -> None:
    bench, _ = begun()
    entry = bench.store.get(TOKEN_KEY, timeout_s=1)
    MemoryStore(bench.server).commit(
        [Put(TOKEN_KEY, b"no token", ABSENT if entry is None else entry.version)], timeout_s=1
    )
    assert bench.committer.try_once().end is End.IN_FLIGHT
    result = bench.committer.try_once()
    assert result.end is End.DEPOSED
    assert "no token" in result.why


def test_a_conflict_says_what_was_expected_and_found() -> None:
    conflict = Conflict("/a: expected ABSENT", key=KEY, index=2)
    bench, _ = begun(conflict)
    assert bench.committer.try_once() == Result(End.CONFLICT, index=0, why=str(conflict))


def test_too_large_says_by_how_much() -> None:
    bench, _ = begun(TooLarge("by 3 bytes"))
    assert bench.committer.try_once() == Result(End.TOO_LARGE, why="by 3 bytes")


def test_before_the_first_commit_no_time_is_left() -> None:
    assert Bench().committer.is_over_time


def test_what_was_not_sent_is_sent_again_and_says_why() -> None:
    bench, _ = begun(Unavailable("not connected"))
    assert bench.committer.try_once() == Result(End.IN_FLIGHT, why="not connected")
    assert bench.end() is End.APPLIED


def test_each_call_may_take_what_is_left_of_half_of_the_session_time() -> None:
    """The session is 10 s: a commit that hangs ends before another controller can be elected."""
    bench, store = begun(OutcomeUnknown("lost"))
    bench.committer.try_once()
    bench.clock.advance(2_000)
    assert bench.committer.try_once().end is End.APPLIED
    assert store.waits_s == [("commit", 5.0), ("read", 3.0), ("commit", 3.0)]


def test_a_call_after_the_deadline_has_a_moment_left() -> None:
    """Stores refuse to wait for nothing; what arrives in that moment still counts."""
    bench, store = begun(OutcomeUnknown("lost"))
    bench.clock.advance(4_999)
    assert bench.committer.try_once().end is End.IN_FLIGHT
    bench.clock.advance(1)
    assert bench.committer.try_once().end is End.APPLIED
    assert [wait for _, wait in store.waits_s] == pytest.approx([0.001] * 3)


def test_a_commit_that_ends_for_lack_of_time_says_what_it_waited_for() -> None:
    bench, _ = begun(Unavailable("not connected"))
    bench.clock.advance(5_000)
    assert bench.committer.is_over_time
    why = "no outcome within half of the session time: not connected"
    assert bench.committer.try_once() == Result(End.DEPOSED, why=why)


def test_the_time_of_each_commit_begins_again() -> None:
    bench, store = begun()
    assert bench.end() is End.APPLIED
    bench.clock.advance(60_000)
    bench.committer.begin([Put("/b", b"", ABSENT)])
    assert not bench.committer.is_over_time
    assert bench.end() is End.APPLIED
    assert store.waits_s == [("commit", 5.0), ("commit", 5.0)]


def test_a_successor_is_the_reason_for_the_end_of_the_term() -> None:
    bench, _ = begun()
    bench.store.expire()
    won(MemoryStore(bench.server))
    result = bench.committer.try_once()
    assert result.end is End.IN_FLIGHT
    assert EPOCH_KEY in result.why
    assert bench.committer.try_once() == Result(End.DEPOSED, why="another controller has committed since")


def test_after_a_look_up_the_next_sending_is_judged_by_itself() -> None:
    """The token of before showed that nothing was applied: what is provably not sent then needs no other look-up, and
    an error that no repetition mends ends the term."""
    bench, store = begun(OutcomeUnknown("lost"), Unavailable("not connected"), Unauthorized("not yours"))
    ends = [bench.committer.try_once().end for _ in range(3)]
    assert ends == [End.IN_FLIGHT, End.IN_FLIGHT, End.DEPOSED]
    assert [kind for kind, _ in store.waits_s] == ["commit", "read", "commit", "commit"]
