"""What the tests of stores share: stores with faults, candidates over them, and waits with a deadline.

Reads and writes in a line are those of `kedge.stores.suite.backend`. No wait measures: a busy machine may take as long
as the deadline is.
"""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from typing import Any, Final

from kedge.stores import (
    ABSENT,
    Depth,
    Entry,
    FaultStore,
    MemoryServer,
    MemoryStore,
    MetadataStore,
    Op,
    Put,
    Resync,
    SessionChanged,
    SessionState,
    StoreEvent,
    Subscription,
    Version,
)
from kedge.stores.base import Commit
from kedge.stores.faults import Call, Fault, Plan
from kedge.stores.recipes import ElectedTerm, elect
from kedge.stores.recipes.election import SEAT, Seat
from tests.kit.waiting import until

WAIT_S: Final = 30.0
CALL_S: Final = 10.0
RECIPE_S: Final = 0.25


class Exacting(MemoryStore):
    """It refuses plain reads, and calls with another timeout than RECIPE_S: an election on a plain read, which may lag,
    would take an epoch that was given before."""

    def get(self, key: str, *, sync: bool = False, timeout_s: float) -> Entry | None:
        assert (sync, timeout_s) == (True, RECIPE_S)
        return super().get(key, sync=sync, timeout_s=timeout_s)

    def children(self, key: str, *, timeout_s: float) -> list[str]:
        assert timeout_s == RECIPE_S
        return super().children(key, timeout_s=timeout_s)

    def created_below(self, key: str, *, timeout_s: float) -> int:
        assert timeout_s == RECIPE_S
        return super().created_below(key, timeout_s=timeout_s)

    def commit(self, ops: Sequence[Op], *, timeout_s: float) -> Commit:
        assert timeout_s == RECIPE_S
        return super().commit(ops, timeout_s=timeout_s)

    def another_session(self) -> MemoryStore:
        return Exacting(self.server)


def faulty(plan: Plan = (), **options: Any) -> tuple[FaultStore, MemoryStore]:
    """A store for recipes with faults, and an observer of the same server."""
    server = MemoryServer()
    return FaultStore(Exacting(server), plan, **options), MemoryStore(server)


def before_commits(does: Callable[[Call], object]) -> Plan:
    """A plan without faults: `does` is called before each commit."""

    def plan(call: Call, _: object) -> list[Fault]:
        if call.name == "commit":
            does(call)
        return []

    return plan


def stand(store: MetadataStore, seat: Seat = SEAT, timeout_s: float = RECIPE_S) -> ElectedTerm | None:
    return elect(store, b"me", "nonce", timeout_s, seat)


def won(store: MetadataStore, seat: Seat = SEAT) -> ElectedTerm:
    term = stand(store, seat)
    assert term is not None
    return term


def write(store: MetadataStore, key: str, value: bytes) -> Version:
    """The key holds the value, whether it was there or not."""
    entry = store.get(key, timeout_s=CALL_S)
    version = store.commit([Put(key, value, ABSENT if entry is None else entry.version)], timeout_s=CALL_S).versions[0]
    assert version is not None
    return version


def drained(stream: Subscription) -> list[StoreEvent]:
    """The events that are there now."""
    events = []
    while (event := stream.poll(0)) is not None:
        events.append(event)
    return events


def raised_by(call: Callable[[], object]) -> BaseException | None:
    """What the call raises, which must end by itself within WAIT_S."""
    future: Future[object] = Future()

    def run() -> None:
        try:
            future.set_result(call())
        except BaseException as error:  # noqa: BLE001 - the test looks at it
            future.set_exception(error)

    threading.Thread(target=run, daemon=True, name="raised-by").start()
    return future.exception(WAIT_S)


def until_event(stream: Subscription, wanted: Callable[[StoreEvent], bool]) -> list[StoreEvent]:
    """The events of the stream up to the first that is wanted. AssertionError at the deadline."""
    deadline_s = time.monotonic() + WAIT_S
    events: list[StoreEvent] = []
    while (left_s := deadline_s - time.monotonic()) > 0:
        event = stream.poll(left_s)
        if event is not None:
            events.append(event)
            if wanted(event):
                return events
    raise AssertionError(f"not within {WAIT_S} s; the last events: {events[-20:]}")


def until_state(stream: Subscription, state: SessionState) -> None:
    until_event(stream, lambda event: isinstance(event, SessionChanged) and event.state is state)


def watched(store: MetadataStore, prefix: str = "/w") -> Subscription:
    """A stream of what is below the prefix; its watches are set."""
    stream = store.subscribe(prefix, Depth.VALUES)
    until_event(stream, lambda event: event == Resync(prefix, "initial"))
    return stream


def no_thread_but(before: set[threading.Thread]) -> None:
    """Threads that were begun since have ended; those of gRPC do a moment after their channel."""
    until(lambda: set(threading.enumerate()) <= before, "threads end")


@contextlib.contextmanager
def foreign(says: bytes) -> Iterator[str]:
    """The address of a server that sends something else to every client, or nothing."""
    listener = socket.create_server(("127.0.0.1", 0))
    held: list[socket.socket] = []

    def serve() -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = listener.accept()
                held.append(connection)
                connection.sendall(says)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield f"127.0.0.1:{listener.getsockname()[1]}"
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(WAIT_S)
        for connection in held:
            connection.close()
