"""A commit is followed to its end: applied once, in conflict, or the last one of its term."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from typing import Any

import pytest

from kedge import NotController
from kedge.controller.codec import keys
from kedge.stores import MemoryStore
from kedge.stores.base import (
    Closed,
    Commit,
    Corrupt,
    Entry,
    InvalidKey,
    Op,
    OutcomeUnknown,
    SessionExpired,
    StoreError,
    Unauthorized,
    Unavailable,
)
from kedge.stores.faults import DeliverLater, FailBefore, Fault, LoseReply, LoseRequest, Rule
from kedge.stores.recipes import EPOCH_KEY, TOKEN_KEY
from tests.runtime.world import Cluster, cluster_of_three

STATE = keys.state("t", 0)
NEXT = keys.state("u", 0)
COMMIT, READ = "commit", "read"


def two_topics() -> Cluster:
    cluster = cluster_of_three()
    cluster.create("u", (1, 2, 3))
    cluster.store.forget_calls()
    return cluster


def sent(cluster: Cluster, key: str = STATE) -> list[tuple[Op, ...]]:
    """The ops of every commit that was sent with this key."""
    return [call.ops for call in cluster.store.calls if call.name == "commit" and key in call.keys]


def answered(cluster: Cluster, future: Future[Any]) -> Any:
    """Its result, once the store was tried again where that was needed."""
    cluster.wait(300)
    return future.result(0)


def generation(cluster: Cluster, key: str = STATE) -> int:
    entry = cluster.other.get(key, timeout_s=1)
    assert entry is not None
    return entry.generation


@pytest.mark.parametrize(
    "fault, times_sent, is_looked_up",
    [
        pytest.param(LoseReply(), 1, True, id="applied, reply lost"),
        pytest.param(LoseRequest(), 2, True, id="never arrived"),
        pytest.param(DeliverLater(before_commit=1), 2, True, id="arrives just before its repetition"),
        pytest.param(DeliverLater(), 2, True, id="arrives after the next commit"),
        pytest.param(FailBefore(), 2, False, id="provably not sent"),
    ],
)
def test_commit_is_applied_once_whatever_becomes_of_its_reply(
    fault: Fault, times_sent: int, is_looked_up: bool
) -> None:
    """It is sent again as it was, and only where the token shows that it was not applied."""
    cluster = two_topics()
    before, epoch = generation(cluster), cluster.controller.controller_epoch
    cluster.store.play([Rule(fault, key=STATE, nth=1)])
    assert answered(cluster, cluster.move([4, 5, 6])).target_replicas == (4, 5, 6)
    attempts = sent(cluster)
    assert (len(attempts), len(set(attempts))) == (times_sent, 1)
    assert any(call.name == "get" and TOKEN_KEY in call.keys for call in cluster.store.calls) is is_looked_up
    answered(cluster, cluster.move([4, 5, 6], "u"))
    assert all(isinstance(answer, StoreError) for answer in cluster.store.deliver_late())
    assert (generation(cluster), cluster.controller.controller_epoch) == (before + 1, epoch)


NEXT_ENDS = [None, LoseReply(), LoseRequest(), FailBefore(), DeliverLater(before_commit=1)]


@pytest.mark.parametrize("token_read_fails", [False, True])
@pytest.mark.parametrize("fault", NEXT_ENDS, ids=repr)
def test_conflict_of_a_repeated_commit_is_confirmed_by_the_token(fault: Fault | None, token_read_fails: bool) -> None:
    """The first sending was lost, and another client wrote the key before the second. Nothing is sent a third time; the
    conflict says nothing of the next commit, which is applied once."""
    cluster = two_topics()
    rules = [Rule(LoseRequest(), key=STATE, nth=1)]
    if token_read_fails:
        rules.append(Rule(FailBefore(), "get", key=TOKEN_KEY, nth=2))
    cluster.store.play(rules)
    moved = cluster.move([4, 5, 6])
    cluster.controller.poll_once()
    cluster.put(STATE, {**cluster.state(), "isr": [1, 2]})
    while len(sent(cluster)) < 2:
        cluster.controller.poll_once()
    assert answered(cluster, moved).target_replicas == (4, 5, 6)
    assert cluster.store.errors == {"OutcomeUnknown": 1, "Conflict": 1}
    first, second, decided_again = sent(cluster)
    assert first == second != decided_again
    assert cluster.state()["isr"] == [1, 2]
    before = generation(cluster, NEXT)
    cluster.store.play([] if fault is None else [Rule(fault, key=NEXT, nth=1)])
    answered(cluster, cluster.move([4, 5, 6], "u"))
    assert generation(cluster, NEXT) == before + 1


@pytest.mark.parametrize("key, value", [(TOKEN_KEY, {"controller_epoch": 9, "seq": 9, "nonce": "x"}), (EPOCH_KEY, 9)])
def test_conflict_at_the_fence_ends_the_term(key: str, value: object) -> None:
    """What stands there is never adopted: another controller commits."""
    cluster = two_topics()
    cluster.put(key, value)
    moved = cluster.move([4, 5, 6])
    cluster.controller.poll_once()
    cluster.controller.poll_once()
    assert isinstance(moved.exception(0), NotController)
    assert "another controller has committed since" in cluster.findings()["demoted"]
    assert "targetReplicas" not in cluster.state()


# --- errors of the store, and the time that each call has


class Answering(MemoryStore):
    """Its commits and its reads of the token raise the errors of a test. `calls`: each of them with its time limit."""

    def __init__(self, cluster: Cluster) -> None:
        super().__init__(cluster.server)
        self.errors: dict[str, list[StoreError | None]] = {COMMIT: [], READ: []}
        self.calls: list[tuple[str, float]] = []

    def commit(self, ops: Sequence[Op], *, timeout_s: float) -> Commit:
        self.answer(COMMIT, timeout_s)
        return super().commit(ops, timeout_s=timeout_s)

    def another_session(self) -> MemoryStore:
        return _Reading(self)

    def answer(self, call: str, timeout_s: float) -> None:
        self.calls.append((call, timeout_s))
        if self.errors[call] and (error := self.errors[call].pop(0)) is not None:
            raise error


class _Reading(MemoryStore):
    """The session over which the token is read."""

    def __init__(self, origin: Answering) -> None:
        super().__init__(origin.server)
        self._origin = origin

    def get(self, key: str, *, sync: bool = False, timeout_s: float) -> Entry | None:
        if key == TOKEN_KEY:
            self._origin.answer(READ, timeout_s)
        return super().get(key, sync=sync, timeout_s=timeout_s)


def answering(
    commits: Sequence[StoreError | None], reads: Sequence[StoreError | None] = ()
) -> tuple[Cluster, Answering]:
    """A leader of topic t with a session of 10 s, and the errors that await its next calls."""
    cluster = Cluster(start=False, options={"session_timeout_s": 10})
    store = Answering(cluster)
    cluster.another(1, store)
    cluster.join(1, 2, 3, 4, 5, 6)
    cluster.create()
    store.errors, store.calls = {COMMIT: [*commits], READ: [*reads]}, []
    return cluster, store


LOST, NOT_SENT = OutcomeUnknown("the reply was lost"), Unavailable("not connected")
GONE = [SessionExpired("it ended"), Closed("closed")]


@pytest.mark.parametrize(
    "commits, reads, calls",
    [
        *(pytest.param([error], [], [COMMIT], id=str(error)) for error in [InvalidKey("no key"), *GONE]),
        *(pytest.param([LOST], [e], [COMMIT, READ], id=f"look-up: {e}") for e in [Corrupt("no token"), *GONE]),
        pytest.param(
            [LOST, NOT_SENT, InvalidKey("no key")], [], [COMMIT, READ, COMMIT, COMMIT], id="after a look-up, by itself"
        ),
    ],
)
def test_error_that_no_repetition_mends_ends_the_term_at_once(commits: Any, reads: Any, calls: list[str]) -> None:
    cluster, store = answering(commits, reads)
    moved = cluster.move([4, 5, 6])
    while not moved.done():
        cluster.controller.poll_once()
    assert isinstance(moved.exception(0), NotController)
    assert [call for call, _ in store.calls] == calls
    assert cluster.findings()["demoted"] == str([*commits, *reads][-1])


def test_token_that_is_broken_ends_the_term_with_the_reason() -> None:
    cluster = two_topics()
    cluster.put(TOKEN_KEY, b"no token")
    moved = cluster.move([4, 5, 6])
    while not moved.done():
        cluster.controller.poll_once()
    assert "no token" in cluster.findings()["demoted"]


def test_each_call_has_what_is_left_of_half_a_session() -> None:
    """A commit that hangs ends before another controller can be elected; an error of the look-up is only repeated."""
    cluster, store = answering([LOST], [Unauthorized("not yet")])
    moved = cluster.move([4, 5, 6])
    cluster.controller.poll_once()
    cluster.clock.advance(2_000)
    cluster.controller.poll_once()
    cluster.clock.advance(2_999)
    assert cluster.done(moved).target_replicas == (4, 5, 6)
    assert store.calls == [(COMMIT, 5.0), (READ, 3.0), *[(call, pytest.approx(0.001)) for call in (READ, COMMIT)]]
    store.calls.clear()
    cluster.clock.advance(60_000)
    cluster.done(cluster.move(None))
    assert store.calls[0] == (COMMIT, 5.0)


@pytest.mark.parametrize("error", [NOT_SENT, LOST])
def test_commit_without_an_outcome_for_half_a_session_ends_the_term(error: StoreError) -> None:
    cluster, _ = answering([error] * 9, [NOT_SENT] * 9)
    moved = cluster.move([4, 5, 6])
    for passed_ms in (0, 4_999):
        cluster.clock.advance(passed_ms)
        cluster.controller.poll_once()
        assert not moved.done()
    cluster.clock.advance(1)
    cluster.controller.poll_once()
    assert isinstance(moved.exception(0), NotController)
    assert cluster.findings()["demoted"] == "no outcome within half of the session time: not connected"
