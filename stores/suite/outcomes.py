"""Faults: unknown outcomes are reported, closed stores refuse calls, and deadlines are kept."""

from __future__ import annotations

import contextlib
import itertools
import threading
import time
from collections.abc import Callable

from ..base import (
    ABSENT,
    PRESENT,
    Check,
    Closed,
    Conflict,
    Depth,
    MetadataStore,
    OutcomeUnknown,
    Put,
    StoreError,
    Unavailable,
)
from ..recipes import Attempt, Fence, Outcome, Resolution, elect, resolve
from .backend import (
    CALL_S,
    Backend,
    Hook,
    await_contact,
    case,
    eventually,
    found,
    get,
    put,
    quiet,
    raises,
    watch,
)


def elected(store: MetadataStore) -> Fence:
    """The fence of a term that `store` won."""
    term = elect(store, b"leader", "nonce", CALL_S)
    assert term is not None
    return Fence(term)


def settle(backend: Backend, store: MetadataStore, fence: Fence, attempt: Attempt) -> int:
    """Send and resolve `attempt` until it is applied, as a controller does; return how often it was sent."""
    deadline_s = time.monotonic() + backend.wait_s
    for sent in itertools.count(1):
        assert time.monotonic() < deadline_s, "the attempt was never settled"
        with contextlib.suppress(OutcomeUnknown, Unavailable, Conflict):
            fence.done(attempt, store.commit(attempt.ops, timeout_s=1.0))
            return sent
        resolution = _resolved(backend, store, attempt)
        assert resolution.outcome is not Outcome.DEPOSED
        if resolution.outcome is Outcome.APPLIED:
            fence.resolved(attempt, resolution)
            return sent
    raise AssertionError("unreachable")


def _resolved(backend: Backend, store: MetadataStore, attempt: Attempt) -> Resolution:
    found_out: list[Resolution] = []

    def asked() -> bool:
        try:
            found_out.append(resolve(store.another_session, attempt, CALL_S))
        except (Unavailable, OutcomeUnknown):
            return False
        return True

    eventually(backend, "resolve gives an answer", asked)
    return found_out[-1]


@case("faults", Hook.BLACKOUT)
def a_lost_reply_is_unknown_and_resolve_tells_the_truth(backend: Backend) -> None:
    """A commit whose reply is lost raises OutcomeUnknown; resolve finds whether it was applied, and it ends applied."""
    store = backend.open()
    fence = elected(store)
    for step in range(5):
        attempt = fence.attempt([Put(f"/suite/{step}", b"", ABSENT)], f"nonce-{step}")
        with backend.blackout(store):
            with raises(OutcomeUnknown) as caught:
                store.commit(attempt.ops, timeout_s=1.0)
            assert caught.error.applied == "unknown"
        resolution = _resolved(backend, store, attempt)
        await_contact(backend, store)
        if resolution.outcome is Outcome.APPLIED:
            assert found(store, f"/suite/{step}").generation == 0
            fence.resolved(attempt, resolution)
        else:
            assert resolution.outcome is Outcome.NOT_APPLIED
            settle(backend, store, fence, attempt)
        assert found(store, f"/suite/{step}").generation == 0
    assert fence.token is not None
    assert fence.token.seq == 5


@case("faults", Hook.BLACKOUT)
def sending_again_applies_once(backend: Backend) -> None:
    """Commits that are sent again after a lost reply are applied exactly once each, in their order."""
    store = backend.open()
    fence = elected(store)
    put(store, "/suite/counter", b"0")
    for step in range(1, 6):
        entry = found(store, "/suite/counter")
        attempt = fence.attempt([Put("/suite/counter", b"%d" % step, entry.version)], f"nonce-{step}")
        with backend.blackout(store), contextlib.suppress(OutcomeUnknown):
            store.commit(attempt.ops, timeout_s=1.0)
        resolution = _resolved(backend, store, attempt)
        await_contact(backend, store)
        if resolution.outcome is Outcome.APPLIED:
            fence.resolved(attempt, resolution)
        else:
            settle(backend, store, fence, attempt)
        assert found(store, "/suite/counter").generation == step


@case("faults", Hook.BLACKOUT)
def deadlines_are_kept(backend: Backend) -> None:
    """A call without an answer ends within twice its timeout."""
    store = backend.open()
    put(store, "/suite/a")
    with backend.blackout(store):
        start_s = time.monotonic()
        with contextlib.suppress(StoreError):
            store.commit([Put("/suite/a", b"2", PRESENT)], timeout_s=1.0)
        assert time.monotonic() - start_s < 2.0


@case("faults", Hook.BLACKOUT)
def a_blackout_does_not_end_the_session(backend: Backend) -> None:
    """After a short blackout the same session continues with its ephemeral keys."""
    store = backend.open()
    put(store, "/suite/mine", ephemeral=True)
    session_id = store.session.session_id
    with backend.blackout(store), contextlib.suppress(StoreError):
        store.commit([Put("/suite/a", b"", ABSENT)], timeout_s=0.5)
    await_contact(backend, store)
    assert store.session.session_id == session_id
    assert found(store, "/suite/mine").owner == session_id


@case("faults", Hook.DISCONNECT)
def a_cut_client_fails_in_time(backend: Backend) -> None:
    """Reads and commits of a disconnected client raise a retryable or unknown error within twice their timeout."""
    store = backend.open()
    put(store, "/suite/a")
    backend.disconnect(store)
    calls: list[Callable[[], object]] = [
        lambda: store.get("/suite/a", sync=True, timeout_s=1.0),
        lambda: store.get_many(["/suite/a"], timeout_s=1.0),
        lambda: store.get_columns(["/suite/a"], timeout_s=1.0),
        lambda: store.snapshot("/suite", timeout_s=1.0),
        lambda: store.children("/suite", timeout_s=1.0),
        lambda: store.commit([Check("/suite/a", PRESENT)], timeout_s=1.0),
    ]
    for call in calls:
        start_s = time.monotonic()
        with raises(StoreError) as caught:
            call()
        assert caught.error.retryable or caught.error.applied == "unknown", repr(caught.error)
        assert time.monotonic() - start_s < 2.0
    backend.reconnect(store)
    await_contact(backend, store)
    assert get(store, "/suite/a") is not None


@case("faults")
def calls_after_close_are_refused(backend: Backend) -> None:
    """After close(), which may be called twice, every call raises Closed, and streams end."""
    store = backend.open()
    stream = watch(backend, store, "/suite", Depth.VALUES)
    session_id = store.session.session_id
    store.close()
    store.close()
    calls: list[Callable[[], object]] = [
        lambda: store.get("/suite/a", timeout_s=1.0),
        lambda: store.get_many(["/suite/a"], timeout_s=1.0),
        lambda: store.get_columns(["/suite/a"], timeout_s=1.0),
        lambda: store.children("/suite", timeout_s=1.0),
        lambda: store.snapshot("/suite", timeout_s=1.0),
        lambda: store.commit([Put("/suite/a", b"", ABSENT)], timeout_s=1.0),
        lambda: store.subscribe("/suite", Depth.VALUES),
        store.another_session,
        lambda: _drained(stream.poll),
        lambda: stream.add("/suite/x", Depth.SELF),
    ]
    for number, call in enumerate(calls):
        try:
            call()
        except Closed:
            continue
        raise AssertionError(f"call {number} was not refused")
    assert store.session.session_id == session_id
    assert not store.session.connected
    assert store.capabilities.value_bytes_max > 0


def _drained(poll: Callable[[float], object]) -> None:
    while poll(0) is not None:
        pass
    poll(0)


@case("faults")
def close_ends_a_poll_under_way(backend: Backend) -> None:
    """A poll that waits in another thread ends with Closed when the store is closed."""
    store = backend.open()
    stream = watch(backend, store, "/suite", Depth.VALUES)
    quiet(stream)
    ended: list[str] = []

    def wait() -> None:
        try:
            while stream.poll(backend.wait_s * 10) is not None:
                pass
            ended.append("none")
        except Closed:
            ended.append("closed")

    thread = threading.Thread(target=wait)
    thread.start()
    store.close()
    thread.join(backend.wait_s)
    assert not thread.is_alive()
    assert ended == ["closed"]


@case("faults")
def close_during_calls(backend: Backend) -> None:
    """Calls that run while the store is closed end with their result, Closed, or an unknown outcome; none hangs."""
    store, other = backend.open(), backend.open()
    version = put(store, "/suite/a")
    ended: list[str] = []

    def work() -> None:
        current = version
        try:
            for step in range(1_000_000):
                current = put(store, "/suite/a", b"%d" % step, current)
        except (Closed, OutcomeUnknown) as error:
            ended.append(type(error).__name__)

    thread = threading.Thread(target=work)
    thread.start()
    eventually(backend, "some writes", lambda: found(other, "/suite/a").generation > 5)
    store.close()
    thread.join(backend.wait_s)
    assert not thread.is_alive()
    assert len(ended) == 1


@case("faults", Hook.RESTART)
def a_restart_loses_nothing(backend: Backend) -> None:
    """What was acknowledged before the server was killed is there after it was started again."""
    store = backend.open()
    put(store, "/suite/a", b"kept")
    backend.restart()

    def kept() -> bool:
        try:
            return found(store, "/suite/a").value == b"kept"
        except StoreError:
            return False

    eventually(backend, "the value is read again", kept)
