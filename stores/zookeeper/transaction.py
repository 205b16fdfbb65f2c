"""A ZooKeeper transaction that kazoo can send, and that can be cancelled until then.

kazoo's own transaction can neither be cancelled nor report whether it was sent. This one records whether it was sent;
until then it can be cancelled, and is written as one without operations, which changes nothing. It cancels itself if
the session is no longer the one that it was made for.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Final

from kazoo.exceptions import KazooException, RolledBackError, RuntimeInconsistency
from kazoo.protocol.serialization import Transaction

FRAME_BYTES_MAX: Final = 1_048_575  # jute.maxbuffer, the server's limit; above it the connection is dropped
_NOTHING: Final = bytes(Transaction(()).serialize())


class Multi:
    """A transaction of which `body` is encoded, so that its size is known before it is sent. Its answer is that of
    kazoo's: a list with one element per operation, the stat after a write, or an error."""

    type = Transaction.type

    def __init__(self, body: bytes, still_valid: Callable[[], bool]) -> None:
        self.sent = False
        self._body = body
        self._still_valid = still_valid
        self._cancelled = False
        self._lock = threading.Lock()

    def serialize(self) -> bytes:
        with self._lock:
            if self._cancelled or not self._still_valid():
                self._cancelled = True
                return _NOTHING
            self.sent = True
        return self._body

    def cancel(self) -> bool:
        """True if it was not sent, and never will be."""
        with self._lock:
            self._cancelled = not self.sent
            return self._cancelled

    def deserialize(self, buffer: bytes, offset: int) -> list[Any]:
        results: list[Any] = Transaction.deserialize(buffer, offset)
        return results

    def __repr__(self) -> str:
        return f"transaction of {len(self._body)} bytes"


def is_refusal(result: object) -> bool:
    """Whether this operation of a refused transaction is the one that failed; the others have errors as well."""
    return isinstance(result, KazooException) and not isinstance(result, RolledBackError | RuntimeInconsistency)
