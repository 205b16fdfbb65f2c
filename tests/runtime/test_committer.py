"""A commit is followed to its end."""

from __future__ import annotations

from typing import Any

import pytest

from kedge.controller.runtime.clock import IdSource
from kedge.controller.runtime.committer import Committer, End
from kedge.stores import MemoryStore
from kedge.stores.base import ABSENT, PRESENT, MetadataStore, Put
from kedge.stores.faults import DeliverLater, ExpireSession, FailBefore, FaultStore, LoseReply, LoseRequest, Rule
from kedge.stores.memory import MemoryServer
from kedge.stores.recipes import EPOCH_KEY, TOKEN_KEY, ElectedTerm, Fence, elect
from tests.runtime.world import HandClock

KEY = "/a"


class Bench:
    """A committer that has just won its term."""

    def __init__(self, **options: Any) -> None:
        self.clock = HandClock()
        self.server = MemoryServer(clock=self.clock.monotonic_s, session_timeout_s=10, **options)
        self.store = FaultStore(MemoryStore(self.server), sleep=lambda s: self.clock.advance(s * 1000))
        self.committer = Committer(self.store, Fence(won(self.store)), self.clock, IdSource(1))

    def begin(self, value: bytes = b"1") -> None:
        self.committer.begin([Put(KEY, value, ABSENT)])

    def end(self, tries: int = 5) -> End:
        end = End.IN_FLIGHT
        for _ in range(tries):
            end = self.committer.try_once().end
            if end is not End.IN_FLIGHT:
                break
        return end

    def value(self) -> bytes | None:
        entry = self.store.inner.get(KEY, timeout_s=1)
        return None if entry is None else entry.value


def won(store: MetadataStore) -> ElectedTerm:
    term = elect(store, b"{}", "n", 1)
    assert term is not None
    return term


def test_a_commit_that_is_answered_is_applied_and_gives_the_versions_of_its_own_ops() -> None:
    """The two ops of the fence do not show in the versions."""
    bench = Bench()
    bench.begin()
    result = bench.committer.try_once()
    entry = bench.store.get(KEY, timeout_s=1)
    assert entry is not None
    assert (result.end, result.versions) == (End.APPLIED, (entry.version,))
    assert not bench.committer.is_in_flight
    assert bench.committer.next_seq == 2


def test_a_conflict_names_the_op_of_the_caller() -> None:
    """Another client's key is in the way: nothing is applied, and the fence stays where it is."""
    bench = Bench()
    bench.server.plant([])
    MemoryStore(bench.server).commit([Put(KEY, b"theirs", ABSENT)], timeout_s=1)
    bench.committer.begin([Put("/b", b"", ABSENT), Put(KEY, b"1", ABSENT)])
    result = bench.committer.try_once()
    assert (result.end, result.index) == (End.CONFLICT, 1)
    assert bench.committer.next_seq == 1
    bench.committer.begin([Put("/b", b"", ABSENT)])
    assert bench.end() is End.APPLIED


@pytest.mark.parametrize("key", [TOKEN_KEY, EPOCH_KEY])
def test_a_conflict_at_the_fence_is_looked_up_and_ends_the_term(key: str) -> None:
    """It is never adopted: another controller commits."""
    bench = Bench()
    bench.begin()
    assert bench.end() is End.APPLIED
    other = MemoryStore(bench.server)
    entry = other.get(key, timeout_s=1)
    assert entry is not None
    value = b'{"controller_epoch":9,"seq":9,"nonce":"x"}' if key == TOKEN_KEY else b"9"
    other.commit([Put(key, value, entry.version)], timeout_s=1)
    bench.committer.begin(())
    assert bench.committer.try_once().end is End.IN_FLIGHT
    assert bench.committer.try_once().end is End.DEPOSED


def test_a_lost_reply_of_an_applied_commit_is_found_out_and_nothing_is_sent_again() -> None:
    """The token is ours: applied, without versions."""
    bench = Bench()
    bench.store.play([Rule(LoseReply(), key=KEY, nth=1)])
    bench.begin()
    before = bench.store.commits
    assert bench.committer.try_once().end is End.IN_FLIGHT
    result = bench.committer.try_once()
    assert (result.end, result.versions) == (End.APPLIED, None)
    assert bench.store.commits == before + 1
    bench.committer.begin(())
    assert bench.end() is End.APPLIED


def test_a_commit_that_never_arrived_is_sent_again_as_it_was() -> None:
    """The token before it stands: the same attempt goes out once more."""
    bench = Bench()
    bench.store.play([Rule(LoseRequest(), key=KEY, nth=1)])
    bench.begin()
    assert bench.end() is End.APPLIED
    sent = [call.ops for call in bench.store.calls if call.name == "commit" and KEY in call.keys]
    assert len(sent) == 2
    assert sent[0] == sent[1]


def test_of_a_commit_that_arrives_late_and_its_repetition_only_one_is_applied() -> None:
    """The first sending reaches the server just before the second: the Conflict of the second is looked up."""
    bench = Bench()
    bench.begin(b"0")
    assert bench.end() is End.APPLIED
    bench.store.play([Rule(DeliverLater(before_commit=1), key=KEY, nth=1)])
    bench.committer.begin([Put(KEY, b"1", PRESENT)])  # what the key would take twice
    assert bench.end() is End.APPLIED
    entry = bench.store.inner.get(KEY, timeout_s=1)
    assert entry is not None
    assert (entry.value, entry.generation) == (b"1", 1)


def test_a_sending_that_arrives_after_the_next_commit_changes_nothing() -> None:
    """Its token is no longer the one that stands."""
    bench = Bench()
    bench.store.play([Rule(DeliverLater(), key=KEY, nth=1)])
    bench.begin()
    assert bench.end() is End.APPLIED
    bench.committer.begin([Put("/b", b"", ABSENT)])
    assert bench.end() is End.APPLIED
    (answer,) = bench.store.deliver_late()
    assert isinstance(answer, Exception)


def test_a_conflict_of_a_commit_that_was_sent_twice_is_believed_only_with_the_token_before_it() -> None:
    """Another client wrote the key between the two sendings, and neither was applied: a conflict like any other."""
    bench = Bench()
    bench.store.play([Rule(LoseRequest(), key=KEY, nth=1)])
    bench.begin()
    assert bench.committer.try_once().end is End.IN_FLIGHT
    MemoryStore(bench.server).commit([Put(KEY, b"theirs", ABSENT)], timeout_s=1)
    result = bench.committer.try_once()
    assert result.end is End.IN_FLIGHT
    result = bench.committer.try_once()
    assert (result.end, result.index) == (End.CONFLICT, 0)


def test_what_was_provably_not_sent_is_simply_sent_again() -> None:
    """No token is read for it."""
    bench = Bench()
    bench.store.play([Rule(FailBefore(), key=KEY, nth=1)])
    bench.begin()
    before = len(bench.store.calls)
    assert bench.end() is End.APPLIED
    assert [call.name for call in list(bench.store.calls)[before:]] == ["commit", "commit"]


def test_a_commit_over_the_limits_is_too_large_and_the_term_goes_on() -> None:
    """Nothing was sent."""
    bench = Bench(value_bytes_max=100)
    bench.begin(b"x" * 101)
    assert bench.end() is End.TOO_LARGE
    bench.begin(b"x")
    assert bench.end() is End.APPLIED


def test_expired_session_without_a_successor_does_not_fence_but_a_successor_does() -> None:
    """The fence is the epoch and the token, not the session: with a successor the commit ends the term."""
    bench = Bench()
    bench.store.play([Rule(ExpireSession(), key=KEY, nth=1)])
    bench.begin()
    assert bench.end() is End.APPLIED
    won(MemoryStore(bench.server))
    bench.committer.begin(())
    assert bench.end() is End.DEPOSED


@pytest.mark.parametrize("fault", [FailBefore(), LoseRequest()])
def test_after_half_of_the_session_time_without_an_outcome_the_term_is_over(fault: FailBefore | LoseRequest) -> None:
    """A leader that is cut off gives up before another can be elected."""
    bench = Bench()
    bench.store.play([Rule(fault, "*")])
    bench.begin()
    assert bench.committer.try_once().end is End.IN_FLIGHT
    bench.clock.advance(4_999)
    assert bench.committer.try_once().end is End.IN_FLIGHT
    bench.clock.advance(1)
    assert bench.committer.try_once().end is End.DEPOSED
    assert not bench.committer.is_in_flight


def test_a_closed_store_ends_the_term() -> None:
    """Nothing can be sent or looked up any more."""
    bench = Bench()
    bench.store.close()
    bench.begin()
    assert bench.end(1) is End.DEPOSED
