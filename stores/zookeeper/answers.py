"""Objects that receive kazoo's answers to requests.

Rules
* Of several answers to one request the first counts: kazoo may report a closed connection and still send the request.
* kazoo takes whatever is raised while it is woken for a closed connection, Ctrl-C too. An interrupt is raised again.
* A SimpleQueue waits without a line of Python. Ctrl-C at some lines of an Event's `wait` becomes a RuntimeError.
* An answer for a stream passes through kazoo's queue of watch events. So both reach the stream in the order in which
  the server sent them, which shows whether a list of names is older than a deletion.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, Final

from kazoo.protocol.states import Callback

from stores.zookeeper.seams import Handler


class Answer:
    """Receives the answer to a request. The first answer counts."""

    def __init__(self) -> None:
        self._came: Final[SimpleQueue[tuple[Any, Exception | None]]] = SimpleQueue()

    def set(self, value: Any = None) -> None:
        self._came.put((value, None))

    def set_exception(self, error: Exception) -> None:
        _raise_interrupt()
        self._came.put((None, error))

    def take(self, timeout_s: float) -> tuple[Any, Exception | None]:
        """The value or the error, once. Raises queue.Empty if there is none within `timeout_s`."""
        return self._came.get(timeout=timeout_s)


class Forwarded:
    """Passes an answer on through kazoo's queue of watch events."""

    def __init__(self, handler: Handler, then: Callable[[Any, Exception | None], None]) -> None:
        self._handler = handler
        self._then = then

    def set(self, value: Any = None) -> None:
        self._handler.dispatch_callback(Callback("watch", self._then, (value, None)))

    def set_exception(self, error: Exception) -> None:
        _raise_interrupt()
        self._handler.dispatch_callback(Callback("watch", self._then, (None, error)))


def _raise_interrupt() -> None:
    """Raise what is being handled, if it is no error: KeyboardInterrupt, or SystemExit of a signal handler."""
    handled = sys.exc_info()[1]
    if handled is not None and not isinstance(handled, Exception):
        raise handled
