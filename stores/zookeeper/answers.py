"""Objects that receive kazoo's answers to requests.

Rules
* Of several answers to one request the first counts: kazoo may report a closed connection and still send the request.
* An answer for a stream passes through kazoo's queue of watch events. So both reach the stream in the order in which
  the server sent them, which shows whether a list of names is older than a deletion.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Final

from kazoo.protocol.states import Callback

from stores.zookeeper.seams import Handler


class Answer:
    """Receives the answer to a request. The first answer counts."""

    def __init__(self) -> None:
        self.came: Final = threading.Event()
        self.value: Any = None
        self.error: Exception | None = None

    def set(self, value: Any = None) -> None:
        if not self.came.is_set():
            self.value = value
            self.came.set()

    def set_exception(self, error: Exception) -> None:
        if not self.came.is_set():
            self.error = error
            self.came.set()


class Forwarded:
    """Passes an answer on through kazoo's queue of watch events."""

    def __init__(self, handler: Handler, then: Callable[[Any, Exception | None], None]) -> None:
        self._handler = handler
        self._then = then

    def set(self, value: Any = None) -> None:
        self._handler.dispatch_callback(Callback("watch", self._then, (value, None)))

    def set_exception(self, error: Exception) -> None:
        self._handler.dispatch_callback(Callback("watch", self._then, (None, error)))
