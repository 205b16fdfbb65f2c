"""Objects that receive kazoo's answers to requests.

Rules
* Of several answers to one request the first counts: kazoo may report a closed connection and still send the request.
* An answer for a stream passes through kazoo's queue of watch events. So both reach the stream in the order in which
  the server sent them, which shows whether a list of names is older than a deletion.
* kazoo takes whatever is raised while it is woken for a closed connection, Ctrl-C too. An interrupt is raised again.
* A lock is waited for without a line of Python: Ctrl-C at some lines of an Event's `wait` becomes a RuntimeError. (A
  SimpleQueue would do so, too, but in Python 3.11 its `get` may forget the timeout.)
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

from kazoo.protocol.states import Callback

from .seams import Handler


class _Receiver:
    """Raises again the interrupt that kazoo takes for a closed connection."""

    def __init__(self) -> None:
        self._handled_before: Final = sys.exc_info()[1]

    def _raise_interrupt(self) -> None:
        """Raise what is being handled, unless it was when the request was made, or is an error. What is left is
        KeyboardInterrupt, or SystemExit of a signal handler."""
        handled = sys.exc_info()[1]
        if handled is not None and handled is not self._handled_before and not isinstance(handled, Exception):
            raise handled


class Answer(_Receiver):
    """Receives the answer to a request. The first answer counts."""

    def __init__(self) -> None:
        super().__init__()
        self._received: Final[list[tuple[Any, Exception | None]]] = []
        self._missing: Final = threading.Lock()
        self._missing.acquire()

    def set(self, value: Any = None) -> None:
        self._receive(value, None)

    def set_exception(self, error: Exception) -> None:
        self._raise_interrupt()
        self._receive(None, error)

    def take(self, timeout_s: float) -> tuple[Any, Exception | None] | None:
        """The value or the error; None if there is none within `timeout_s`. From one thread, once."""
        return self._received[0] if self._missing.acquire(timeout=timeout_s) else None

    def _receive(self, value: Any, error: Exception | None) -> None:
        self._received.append((value, error))
        with suppress(RuntimeError):  # it is not the first
            self._missing.release()


class Forwarded(_Receiver):
    """Passes an answer on through kazoo's queue of watch events."""

    def __init__(self, handler: Handler, then: Callable[[Any, Exception | None], None]) -> None:
        super().__init__()
        self._handler = handler
        self._then = then

    def set(self, value: Any = None) -> None:
        self._handler.dispatch_callback(Callback("watch", self._then, (value, None)))

    def set_exception(self, error: Exception) -> None:
        self._raise_interrupt()
        self._handler.dispatch_callback(Callback("watch", self._then, (None, error)))
