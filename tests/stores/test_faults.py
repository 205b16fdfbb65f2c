"""Faults happen where the plan says, and certain outcomes stay certain."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from kedge.stores import (
    ABSENT,
    Changed,
    Check,
    Closed,
    Conflict,
    Depth,
    FaultStore,
    Invalid,
    MemoryServer,
    MemoryStore,
    OutcomeUnknown,
    Put,
    Resync,
    SessionChanged,
    SessionExpired,
    SessionState,
    StoreEvent,
    TooLarge,
    Unavailable,
)
from kedge.stores.faults import (
    Call,
    CutOff,
    Delay,
    DeliverLater,
    DoubleEvent,
    DropEvent,
    ExpireSession,
    FailBefore,
    Fault,
    ForceResync,
    LoseReply,
    LoseRequest,
    Plan,
    Rule,
    at_commit,
)
from kedge.stores.suite.backend import found, get, put
from tests.stores.kit import drained


def faulty(plan: Plan = (), **options: Any) -> tuple[FaultStore, MemoryStore]:
    """A FaultStore over a memory store, and an observer of the same server."""
    server = MemoryServer()
    return FaultStore(MemoryStore(server), plan, **options), MemoryStore(server)


@pytest.mark.parametrize(
    "fault, error, applied, late",
    [
        (FailBefore(), Unavailable, False, 0),
        (LoseReply(), OutcomeUnknown, True, 0),
        (LoseRequest(), OutcomeUnknown, False, 0),
        (DeliverLater(), OutcomeUnknown, False, 1),
    ],
    ids=str,
)
def test_commit_that_the_plan_names_meets_its_fault(
    fault: Fault, error: type[Exception], applied: bool, late: int
) -> None:
    """The others pass, and all are counted."""
    store, observer = faulty(at_commit(2, fault))
    put(store, "/1")
    with pytest.raises(error):
        put(store, "/2")
    put(store, "/3")
    assert (get(observer, "/2") is not None) is applied
    assert (store.commits, store.late) == (3, late)
    assert [type(answer).__name__ for answer in store.deliver_late()] == ["Commit"] * late
    assert (get(observer, "/2") is not None) is (applied or bool(late))
    assert (store.late, store.deliver_late()) == (0, ())


def test_lost_reply_may_be_that_of_a_conflict() -> None:
    store, observer = faulty([Rule(LoseReply())])
    for value in (b"1", b"2"):
        with pytest.raises(OutcomeUnknown):
            put(store, "/a", value)
    assert (found(observer, "/a").value, found(observer, "/a").generation) == (b"1", 0)


def test_call_that_was_never_sent_loses_no_reply() -> None:
    store, _ = faulty([Rule(LoseReply())])
    with pytest.raises(TooLarge):
        put(store, "/a", b"x" * 1_000_000)
    with pytest.raises(Invalid):
        store.commit([Put("/a", b"", ABSENT), Check("/a", ABSENT)], timeout_s=1)
    store.disconnect()
    with pytest.raises(Unavailable):
        put(store, "/a")


def test_late_commit_arrives_before_a_later_one() -> None:
    """Counted over all sessions; it may beat the later one."""
    store, observer = faulty(at_commit(1, DeliverLater(before_commit=2)))
    with pytest.raises(OutcomeUnknown):
        put(store, "/a", b"late")
    put(store.another_session(), "/b")
    assert get(observer, "/a") is None
    with pytest.raises(Conflict):
        put(store, "/a", b"again")
    assert found(observer, "/a").value == b"late"


def test_late_commit_outlives_its_sender() -> None:
    """It arrives though the client was cut off, lost its session, or was closed; a refusal is its answer."""
    store, observer = faulty([Rule(DeliverLater())])
    for key in ("/a", "/b"):
        with pytest.raises(OutcomeUnknown):
            put(store, key)
    store.disconnect()
    store.expire()
    store.close()
    put(observer, "/b", b"theirs")
    assert [type(answer).__name__ for answer in store.deliver_late()] == ["Commit", "Conflict"]
    assert observer.children("/", timeout_s=1) == ["a", "b"]


def test_late_ephemeral_key_belongs_to_its_session_or_to_none() -> None:
    store, observer = faulty([Rule(DeliverLater())])
    with pytest.raises(OutcomeUnknown):
        put(store, "/a", ephemeral=True)
    store.deliver_late()
    assert found(observer, "/a").owner == store.session.session_id
    with pytest.raises(OutcomeUnknown):
        put(store, "/b", ephemeral=True)
    store.expire()
    assert isinstance(store.deliver_late()[0], SessionExpired)
    assert get(observer, "/b") is None


CALLS: dict[str, Callable[[FaultStore], object]] = {
    "get": lambda store: store.get("/a/b", timeout_s=1),
    "get_many": lambda store: store.get_many(["/a/b"], timeout_s=1),
    "get_columns": lambda store: store.get_columns(["/x", "/a/b"], timeout_s=1),
    "children": lambda store: store.children("/a/b", timeout_s=1),
    "created_below": lambda store: store.created_below("/a/b", timeout_s=1),
    "snapshot": lambda store: store.snapshot("/a/b", timeout_s=1),
    "subscribe": lambda store: store.subscribe("/a/b", Depth.SELF),
    "another_session": lambda store: store.another_session(),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("fault, error", [(FailBefore(), Unavailable), (DeliverLater(), OutcomeUnknown)], ids=str)
def test_rule_counts_the_calls_that_it_matches(name: str, fault: Fault, error: type[Exception]) -> None:
    """By name, number and pattern of keys; "*" is every call but the events of streams."""
    pattern = "*" if name == "another_session" else "/a/*"
    for matching in (name, "*"):
        store, _ = faulty([Rule(fault, matching, pattern, nth=2)])
        store.get("/b", timeout_s=1) if pattern != "*" else None
        CALLS[name](store)
        with pytest.raises(error):
            CALLS[name](store)
        CALLS[name](store)


def test_rule_for_everything_spares_events() -> None:
    store, observer = faulty()
    stream = store.subscribe("/a", Depth.SELF)
    store.play([Rule(FailBefore(), "*")])
    put(observer, "/a")
    assert drained(stream) == [Resync("/a", "initial"), Changed("/a")]


def test_plan_without_a_meaning_is_invalid() -> None:
    """A call that does not exist, an event's fault for a call, a fault for which the inner store has no hook."""
    with pytest.raises(Invalid, match="snapshot"):
        Rule(FailBefore(), "put")
    with pytest.raises(Invalid, match="events"):
        put(faulty([Rule(DropEvent())])[0], "/a")

    class Plain(FaultStore):
        disconnect = None  # type: ignore[assignment]

    with pytest.raises(Invalid, match="disconnected or expired"):
        FaultStore(Plain(MemoryStore())).expire()


def test_faults_of_one_call_happen_in_order() -> None:
    """Delays go through the injected sleep."""
    slept: list[float] = []
    store, observer = faulty(at_commit(1, Delay(2.5), Delay(1.0), LoseReply()), sleep=slept.append)
    with pytest.raises(OutcomeUnknown):
        put(store, "/a")
    assert slept == [2.5, 1.0]
    assert get(observer, "/a") is not None


def test_session_ends_or_is_cut_before_the_call() -> None:
    """The call goes on under the new session, or fails."""
    store, observer = faulty([*at_commit(2, ExpireSession()), *at_commit(3, CutOff())])
    stream = store.subscribe("/a", Depth.SELF)
    put(store, "/e", ephemeral=True)
    put(store, "/b")
    assert get(observer, "/e") is None
    with pytest.raises(Unavailable):
        put(store, "/c")
    assert not store.session.connected
    store.reconnect()
    states = [event.state.value for event in drained(stream) if isinstance(event, SessionChanged)]
    assert states == ["lost", "started", "suspended", "resumed"]


def test_forced_resync_reaches_every_stream() -> None:
    """By plan, for each prefix that is watched; by call, also while the stream waits in another thread."""
    store, _ = faulty(at_commit(1, ForceResync()))
    streams = [store.subscribe("/a", Depth.SELF), store.subscribe("/b", Depth.VALUES)]
    streams[1].add("/c", Depth.SELF)
    streams[1].remove("/b")
    for stream in streams:
        drained(stream)
    put(store, "/x")
    assert [drained(stream) for stream in streams] == [[Resync("/a", "injected")], [Resync("/c", "injected")]]
    seen: list[StoreEvent | None] = []
    thread = threading.Thread(target=lambda: seen.append(streams[0].poll(30)))
    thread.start()
    store.force_resync()
    thread.join(30)
    assert seen == [Resync("/a", "injected")]


def test_events_are_dropped_and_doubled() -> None:
    """By the key of the hint; session events pass."""
    plan = [Rule(DropEvent(), "event", "/a/1"), Rule(DoubleEvent(), "event", "/a/2"), Rule(DropEvent(), "event", "/a")]
    store, observer = faulty(plan)
    stream = store.subscribe("/a", Depth.VALUES)
    for key in ("/a/1", "/a/2", "/a/3"):
        put(observer, key)
    store.disconnect()
    suspended = SessionChanged(SessionState.SUSPENDED, store.session.session_id)
    assert drained(stream) == [Changed("/a/2"), Changed("/a/2"), Changed("/a/3"), suspended]


def test_waiting_poll_times_out_and_ends() -> None:
    store, _ = faulty()
    stream, other = store.subscribe("/a", Depth.SELF), store.subscribe("/b", Depth.SELF)
    assert stream.poll(5) == Resync("/a", "initial")
    assert stream.poll(0.03) is None
    stream.close()
    assert stream.poll(30) is None
    store.close()
    with pytest.raises(Closed):
        drained(other)


def test_plan_may_be_a_function_with_a_seed() -> None:
    """The same seed gives the same faults."""

    def plan(call: Call, chance: random.Random) -> Iterable[Fault]:
        return [FailBefore()] if call.name == "commit" and chance.random() < 0.5 else []

    def run(seed: int) -> list[str]:
        store, observer = faulty(plan, seed=seed)
        for step in range(20):
            try:
                put(store, f"/{step}")
            except Unavailable:
                continue
        return observer.children("/", timeout_s=1)

    assert run(1) == run(1) != run(2)
    assert 0 < len(run(1)) < 20


def test_record_of_calls_is_bounded() -> None:
    """Name, keys, number and ops, those of other sessions included; numbers go on after it was emptied."""
    store, _ = faulty(calls_max=3)
    op = Put("/a", b"1", ABSENT)
    store.get("/x", timeout_s=1)
    other = store.another_session()
    store.commit([op], timeout_s=1)
    other.get_many(["/a", "/b"], timeout_s=1)
    another, commit = Call("another_session", (), 1), Call("commit", ("/a",), 1, (op,))
    assert list(store.calls) == [another, commit, Call("get_many", ("/a", "/b"), 1)]
    assert other.calls == store.calls
    store.forget_calls()
    store.get("/b", timeout_s=1)
    assert list(store.calls) == [Call("get", ("/b",), 2)]


def test_another_plan_restarts_the_count() -> None:
    """Of its rules; commits are numbered on."""
    store, _ = faulty(at_commit(3, FailBefore()))
    put(store, "/1")
    store.play(at_commit(1, LoseReply()))
    with pytest.raises(OutcomeUnknown):
        put(store, "/2")
    assert store.commits == 2
    store.play(())
    put(store, "/3")
