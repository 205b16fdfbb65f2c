"""Waits of the tests of stores. None of them measures: a machine that is busy may take as long as the deadline is."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Final

from kedge.stores import (
    Depth,
    MetadataStore,
    OutcomeUnknown,
    Resync,
    SessionChanged,
    SessionState,
    StoreEvent,
    Subscription,
    Unavailable,
)
from kedge.stores.recipes import Attempt, Resolution, resolve

WAIT_S: Final = 30.0
CALL_S: Final = 10.0


def raised_by(call: Callable[[], object]) -> BaseException | None:
    """What the call raised, which must end by itself: a server that is not let go on before cannot have ended it."""
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


def resolved(store: MetadataStore, attempt: Attempt) -> Resolution:
    """What `resolve` returns, once the server answers."""
    deadline_s = time.monotonic() + WAIT_S
    while True:
        try:
            return resolve(store.another_session, attempt, CALL_S)
        except (Unavailable, OutcomeUnknown):
            assert time.monotonic() < deadline_s, f"{store} does not answer"
