"""The threads of a started controller. One drives the loop. One listens to the store, and watches its session and the
deadlines of callers. One keeps the host's brokers registered; it may wait for the store, and must not delay the news of
a lost session. Callbacks have threads of their own (`executors`)."""

from __future__ import annotations

import logging
import threading
import time
from typing import Final

from ...stores.base import StoreError
from .loop import Loop

_log = logging.getLogger(__name__)

LISTEN_S: Final = 0.1  # how often sessions are checked while the store has no events
IDLE_S: Final = 1.0
FAILED_S: Final = 0.2  # the pause after a failed pass


class Threads:
    """The threads; started once, stopped once."""

    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        self._stop = threading.Event()
        name = f"kedge-{loop.services.controller_id}"
        self._threads = [
            threading.Thread(target=self._drive, name=f"{name}-loop", daemon=True),
            threading.Thread(target=self._listen, name=f"{name}-listen", daemon=True),
            threading.Thread(target=self._register, name=f"{name}-register", daemon=True),
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self, timeout_s: float) -> None:
        """Stop the threads; waits up to `timeout_s` (the loop may be waiting for the store)."""
        self._stop.set()
        self._loop.services.inbox.wake()
        deadline_s = time.monotonic() + timeout_s
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join(max(0.0, deadline_s - time.monotonic()))
            # Only once the loop has ended: until then it needs the news of a lost session. Ends the wait for an event.
            self._loop.subscription.close()

    def _drive(self) -> None:
        while not self._stop.is_set():
            try:
                self._loop.step(IDLE_S)
            except Exception:  # noqa: BLE001 - a defect ends the term, not the controller
                _log.exception("a pass of the loop failed; the term ends")
                self._stop.wait(FAILED_S)

    def _listen(self) -> None:
        while not self._stop.is_set():
            try:
                event = self._loop.subscription.poll(LISTEN_S)
                if event is not None:
                    self._loop.hear(event)
                self._loop.check_session()
                self._loop.check_deadlines()
            except StoreError:
                self._stop.wait(FAILED_S)

    def _register(self) -> None:
        while not self._stop.wait(LISTEN_S):
            self._loop.watch_registrations()
