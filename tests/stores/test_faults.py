from __future__ import annotations

import random
import threading
from collections.abc import Iterable
from typing import cast

import pytest

from kedge.stores import (
    ABSENT,
    PRESENT,
    Changed,
    Check,
    Closed,
    Conflict,
    Depth,
    FaultStore,
    Invalid,
    MemoryServer,
    MemoryStore,
    MetadataStore,
    OutcomeUnknown,
    Put,
    Resync,
    SessionChanged,
    SessionExpired,
    SessionState,
    StoreEvent,
    Subscription,
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


def faulty(plan: Plan = (), **options: object) -> tuple[FaultStore, MemoryStore]:
    """A FaultStore over a memory store, and an observer of the same server."""
    server = MemoryServer()
    return FaultStore(MemoryStore(server), plan, **options), MemoryStore(server)  # type: ignore[arg-type]


def put(store: MetadataStore, key: str, value: bytes = b"", *, ephemeral: bool = False) -> None:
    store.commit([Put(key, value, ABSENT, ephemeral)], timeout_s=1)


def exists(store: MetadataStore, key: str) -> bool:
    return store.get(key, timeout_s=1) is not None


def drain(stream: Subscription) -> list[StoreEvent]:
    events = []
    while (event := stream.poll(0)) is not None:
        events.append(event)
    return events


def test_the_right_commit_fails_before_it_is_sent() -> None:
    """FailBefore at commit number 2: Unavailable, nothing applied; the others pass; all are counted."""
    store, observer = faulty(at_commit(2, FailBefore()))
    put(store, "/1")
    with pytest.raises(Unavailable):
        put(store, "/2")
    put(store, "/3")
    assert observer.children("/", timeout_s=1) == ["1", "3"]
    assert store.commits == 3


def test_a_lost_reply_was_applied() -> None:
    """LoseReply: OutcomeUnknown, applied; a Conflict gets lost just so."""
    store, observer = faulty([Rule(LoseReply())])
    with pytest.raises(OutcomeUnknown):
        put(store, "/a", b"1")
    with pytest.raises(OutcomeUnknown):
        put(store, "/a", b"2")
    entry = observer.get("/a", timeout_s=1)
    assert entry is not None
    assert (entry.value, entry.generation) == (b"1", 0)


def test_a_lost_request_was_not_applied() -> None:
    """LoseRequest: OutcomeUnknown, and never applied."""
    store, observer = faulty(at_commit(1, LoseRequest()))
    with pytest.raises(OutcomeUnknown):
        put(store, "/a")
    assert store.deliver_late() == ()
    assert not exists(observer, "/a")


def test_what_was_never_sent_loses_no_reply() -> None:
    """Errors that prove that nothing was sent come through all faults."""
    store, _ = faulty([Rule(LoseReply())])
    with pytest.raises(TooLarge):
        store.commit([Put("/a", b"x" * 1_000_000, ABSENT)], timeout_s=1)
    with pytest.raises(Invalid):
        store.commit([Put("/a", b"", ABSENT), Check("/a", ABSENT)], timeout_s=1)
    store.disconnect()
    with pytest.raises(Unavailable):
        put(store, "/a")


def test_a_late_commit_is_delivered_on_demand() -> None:
    """DeliverLater: the caller hears OutcomeUnknown, and the commit reaches the server when it is delivered."""
    store, observer = faulty(at_commit(1, DeliverLater()))
    with pytest.raises(OutcomeUnknown):
        put(store, "/a")
    assert store.late == 1
    put(store, "/b")
    assert not exists(observer, "/a")
    answers = store.deliver_late()
    assert [type(answer).__name__ for answer in answers] == ["Commit"]
    assert exists(observer, "/a")
    assert (store.late, store.deliver_late()) == (0, ())


def test_a_late_commit_is_delivered_before_a_later_one() -> None:
    """DeliverLater(2): it arrives just before the second next commit, over all sessions, and may beat it."""
    store, observer = faulty(at_commit(1, DeliverLater(before_commit=2)))
    with pytest.raises(OutcomeUnknown):
        put(store, "/a", b"late")
    put(store.another_session(), "/b")
    assert not exists(observer, "/a")
    with pytest.raises(Conflict):
        put(store, "/a", b"again")
    assert exists(observer, "/a")


def test_a_late_commit_outlives_its_sender() -> None:
    """It arrives though the client was cut off, lost its session, or was closed: that is what fences are for."""
    store, observer = faulty([Rule(DeliverLater())])
    for key in ("/a", "/b"):
        with pytest.raises(OutcomeUnknown):
            put(store, key)
    store.disconnect()
    store.expire()
    store.close()
    assert len(store.deliver_late()) == 2
    assert observer.children("/", timeout_s=1) == ["a", "b"]


def test_late_ephemeral_key_belongs_to_its_session_or_to_none() -> None:
    """A late commit that puts an ephemeral key is applied by the session that sent it, or dropped if that has ended."""
    store, observer = faulty([Rule(DeliverLater())])
    with pytest.raises(OutcomeUnknown):
        put(store, "/a", ephemeral=True)
    store.deliver_late()
    entry = observer.get("/a", timeout_s=1)
    assert entry is not None
    assert entry.owner == store.session.session_id
    with pytest.raises(OutcomeUnknown):
        put(store, "/b", ephemeral=True)
    store.expire()
    assert isinstance(store.deliver_late()[0], SessionExpired)
    assert not exists(observer, "/b")


def test_a_refused_late_commit_gives_its_error() -> None:
    """What the server answered to a late commit is returned by the delivery, not raised."""
    store, observer = faulty(at_commit(1, DeliverLater()))
    with pytest.raises(OutcomeUnknown):
        put(store, "/a")
    put(observer, "/a")
    assert isinstance(store.deliver_late()[0], Conflict)


def test_reads_fail_by_rule_too() -> None:
    """Rules name an operation, a pattern of keys and a number; each counts the calls that match it, from 1."""
    store, _ = faulty(
        [
            Rule(FailBefore(), "get", "/a/*", nth=2),
            Rule(LoseReply(), "snapshot"),
            Rule(DeliverLater(), "children"),
            Rule(FailBefore(), "another_session", nth=1),
            Rule(FailBefore(), "get_columns", "/x"),
            Rule(FailBefore(), "get_many", nth=1),
        ]
    )
    put(store, "/a/b")
    assert exists(store, "/a/b")
    assert not exists(store, "/b")
    with pytest.raises(Unavailable):
        store.get("/a/c", timeout_s=1)
    assert exists(store, "/a/b")
    with pytest.raises(OutcomeUnknown):
        store.snapshot("/", timeout_s=1)
    with pytest.raises(OutcomeUnknown):
        store.children("/", timeout_s=1)
    with pytest.raises(Unavailable):
        store.another_session()
    assert store.get_columns(["/a/b", "/y"], timeout_s=1).values == [b"", None]
    with pytest.raises(Unavailable):
        store.get_columns(["/a/b", "/x"], timeout_s=1)
    with pytest.raises(Unavailable):
        store.get_many(["/a/b"], timeout_s=1)
    assert len(store.get_many(["/a/b"], timeout_s=1)) == 1


def test_a_rule_for_everything_spares_events() -> None:
    """Every call of a store is matched by "*", but not the events of its streams."""
    store, observer = faulty()
    stream = store.subscribe("/a", Depth.SELF)
    store.play([Rule(FailBefore(), "*")])
    put(observer, "/a")
    assert drain(stream) == [Resync("/a", "initial"), Changed("/a")]
    with pytest.raises(Unavailable):
        store.get("/a", timeout_s=1)
    with pytest.raises(Unavailable):
        store.subscribe("/a", Depth.SELF)


def test_an_unknown_operation_is_refused() -> None:
    """A rule for a call that does not exist would never happen."""
    with pytest.raises(Invalid, match="snapshot"):
        Rule(FailBefore(), "put")


def test_delays_go_through_the_injected_sleep() -> None:
    """Delay calls the given sleep with its seconds and goes on; several faults happen in their order."""
    slept: list[float] = []
    store, observer = faulty(at_commit(1, Delay(2.5), Delay(1.0), LoseReply()), sleep=slept.append)
    with pytest.raises(OutcomeUnknown):
        put(store, "/a")
    assert slept == [2.5, 1.0]
    assert exists(observer, "/a")


def test_expire_and_cut_off_by_plan() -> None:
    """ExpireSession ends the session before the call, which goes on under the new one; CutOff lets it fail."""
    store, observer = faulty([*at_commit(2, ExpireSession()), *at_commit(3, CutOff())])
    stream = store.subscribe("/a", Depth.SELF)
    put(store, "/e", ephemeral=True)
    put(store, "/b")
    assert not exists(observer, "/e")
    with pytest.raises(Unavailable):
        put(store, "/c")
    assert not store.session.connected
    store.reconnect()
    assert [event.state.value for event in drain(stream) if isinstance(event, SessionChanged)] == [
        "lost",
        "started",
        "suspended",
        "resumed",
    ]


def test_a_store_that_cannot_be_broken_says_so() -> None:
    """A fault that the inner store has no hook for is Invalid, not silently left out."""

    class Plain(FaultStore):
        disconnect = None  # type: ignore[assignment]

    with pytest.raises(Invalid, match="disconnected or expired"):
        FaultStore(Plain(MemoryStore())).expire()


def test_forced_resync() -> None:
    """Every stream of the session gets a Resync, by call, by plan, and while it waits in another thread."""
    store, _ = faulty(at_commit(1, ForceResync()))
    streams = [store.subscribe("/a", Depth.SELF), store.subscribe("/b", Depth.VALUES)]
    streams[1].add("/c", Depth.SELF)
    streams[1].remove("/b")
    for stream in streams:
        drain(stream)
    put(store, "/x")
    assert [drain(stream) for stream in streams] == [[Resync("/a", "injected")], [Resync("/c", "injected")]]
    seen: list[StoreEvent | None] = []
    thread = threading.Thread(target=lambda: seen.append(streams[0].poll(30)))
    thread.start()
    store.force_resync()
    thread.join(30)
    assert seen == [Resync("/a", "injected")]


def test_events_are_dropped_and_doubled() -> None:
    """Rules named "event" drop or double hints, by the key of the hint; session events pass."""
    plan = [Rule(DropEvent(), "event", "/a/1"), Rule(DoubleEvent(), "event", "/a/2"), Rule(DropEvent(), "event", "/a")]
    store, observer = faulty(plan)
    stream = store.subscribe("/a", Depth.VALUES)
    for key in ("/a/1", "/a/2", "/a/3"):
        put(observer, key)
    store.disconnect()
    assert drain(stream) == [
        Changed("/a/2"),
        Changed("/a/2"),
        Changed("/a/3"),
        SessionChanged(SessionState.SUSPENDED, store.session.session_id),
    ]


def test_event_faults_fit_no_call() -> None:
    """Dropping an event of a commit is a plan that makes no sense."""
    store, _ = faulty([Rule(DropEvent())])
    with pytest.raises(Invalid, match="events"):
        put(store, "/a")


def test_a_waiting_poll_times_out_and_ends() -> None:
    """A poll of a quiet stream ends after its timeout with None; a closed stream says None, a closed store Closed."""
    store, _ = faulty()
    stream, other = store.subscribe("/a", Depth.SELF), store.subscribe("/b", Depth.SELF)
    assert stream.poll(5) == Resync("/a", "initial")
    assert stream.poll(0.03) is None
    stream.close()
    assert stream.poll(30) is None
    store.close()
    with pytest.raises(Closed):
        drain(other)


def test_a_plan_may_be_a_function_with_a_seed() -> None:
    """A function gets every call and a random source; the same seed gives the same faults."""

    def plan(call: Call, chance: random.Random) -> Iterable[Fault]:
        return [FailBefore()] if call.name == "commit" and chance.random() < 0.5 else []

    def run(seed: int) -> list[bool]:
        store, _ = faulty(plan, seed=seed)
        passed = []
        for step in range(20):
            try:
                put(store, f"/{step}")
            except Unavailable:
                passed.append(False)
            else:
                passed.append(True)
        return passed

    assert run(1) == run(1) != run(2)
    assert {True, False} == set(run(1))


def test_calls_are_recorded_and_the_record_is_bounded() -> None:
    """The record holds name, keys, number and ops of the last calls, those of other sessions included."""
    store, _ = faulty(calls_max=3)
    op = Put("/a", b"1", ABSENT)
    store.get("/x", timeout_s=1)
    other = store.another_session()
    store.commit([op], timeout_s=1)
    other.get_many(["/a", "/b"], timeout_s=1)
    assert store.calls == (
        Call("another_session", (), 1),
        Call("commit", ("/a",), 1, (op,)),
        Call("get_many", ("/a", "/b"), 1),
    )
    assert other.calls == store.calls


def test_another_plan_restarts_the_count() -> None:
    """play() replaces the plan: its rules count from zero, while commits are numbered on."""
    store, _ = faulty(at_commit(3, FailBefore()))
    put(store, "/1")
    store.play(at_commit(1, LoseReply()))
    with pytest.raises(OutcomeUnknown):
        put(store, "/2")
    assert store.commits == 2
    store.play(())
    put(store, "/3")


def test_it_is_transparent_without_a_plan() -> None:
    """Session, capabilities and timeouts are those of the store inside."""
    store, _ = faulty()
    inner = cast(MemoryStore, store.inner)
    assert (store.session, store.capabilities) == (inner.session, inner.capabilities)
    assert store.session_timeout_s == inner.session_timeout_s
    version = store.commit([Put("/a", b"", ABSENT)], timeout_s=1).versions[0]
    assert version is not None
    store.commit([Put("/a", b"2", version)], timeout_s=1)
    store.commit([Put("/a", b"3", PRESENT)], timeout_s=1)


def test_a_record_of_calls_that_was_emptied_goes_on_with_the_next_number() -> None:
    store = FaultStore(MemoryStore())
    store.get("/a", timeout_s=1)
    store.forget_calls()
    store.get("/b", timeout_s=1)
    assert [(call.keys, call.number) for call in store.calls] == [(("/b",), 2)]
