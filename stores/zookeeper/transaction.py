"""A ZooKeeper transaction as a class that kazoo can send, and its operations as bytes.

Rules
* kazoo's own transaction can neither be cancelled nor report whether it was sent. This one records whether it was sent;
  until then it can be cancelled, and is written as one without operations, which changes nothing. It cancels itself if
  the session is no longer the one that it was made for.
* Operations are encoded at once, so the size of the request is known before it is sent.
"""

from __future__ import annotations

import struct
import threading
from collections.abc import Callable, Sequence
from typing import Any, Final

import attrs

_CREATE, _DELETE, _SET_DATA, _CHECK, _MULTI, _ERROR = 1, 2, 5, 13, 14, -1
_NULL: Final = -1
_INT: Final = struct.Struct("!i")
_MULTI_HEAD: Final = struct.Struct("!iBi")
_END: Final = _MULTI_HEAD.pack(-1, 1, -1)
_STAT_BYTES: Final = 68
_VERSION_PLACE: Final = 32  # offset of the version in a stat

FRAME_BYTES_MAX: Final = 1_048_575  # jute.maxbuffer, the server's limit; above it the connection is dropped


def create(path: str, data: bytes | None, acl: bytes, *, ephemeral: bool = False) -> bytes:
    """A create as part of a transaction; `acl` is encoded already."""
    return _op(_CREATE, path) + _data(data) + acl + _INT.pack(1 if ephemeral else 0)


def set_data(path: str, data: bytes | None, version: int) -> bytes:
    """A write of an existing node; version -1 means any."""
    return _op(_SET_DATA, path) + _data(data) + _INT.pack(version)


def delete(path: str, version: int) -> bytes:
    """A deletion; version -1 means any."""
    return _op(_DELETE, path) + _INT.pack(version)


def check(path: str, version: int) -> bytes:
    """A check of a node; version -1 means that it exists."""
    return _op(_CHECK, path) + _INT.pack(version)


def encode_acl(entries: Sequence[tuple[int, str, str]]) -> bytes:
    """(permissions, scheme, id) of each entry, encoded as in a create."""
    parts = [_INT.pack(len(entries))]
    for permissions, scheme, name in entries:
        parts += [_INT.pack(permissions), _data(scheme.encode()), _data(name.encode())]
    return b"".join(parts)


def _op(kind: int, path: str) -> bytes:
    return _MULTI_HEAD.pack(kind, 0, -1) + _INT.pack(len(path)) + path.encode("ascii")


def _data(data: bytes | None) -> bytes:
    return _INT.pack(_NULL) if data is None else _INT.pack(len(data)) + data


class Multi:
    """A transaction. Its answer is a list with one element per operation: the version after a write, None, or
    `Refused`."""

    type = _MULTI

    def __init__(self, body: bytes, still_valid: Callable[[], bool]) -> None:
        self.sent = False
        self._body = body + _END
        self._still_valid = still_valid
        self._cancelled = False
        self._lock = threading.Lock()

    def serialize(self) -> bytes:
        with self._lock:
            if self._cancelled or not self._still_valid():
                self._cancelled = True
                return _END
            self.sent = True
        return self._body

    def cancel(self) -> bool:
        """True if it was not sent, and never will be."""
        with self._lock:
            self._cancelled = not self.sent
            return self._cancelled

    def deserialize(self, buffer: bytes, offset: int) -> list[Any]:
        results: list[Any] = []
        kind, done, _ = _MULTI_HEAD.unpack_from(buffer, offset)
        offset += 9
        while not done:
            result: Any = None
            if kind == _CREATE:
                offset += 4 + max(0, _INT.unpack_from(buffer, offset)[0])
                result = 0
            elif kind == _SET_DATA:
                (result,) = _INT.unpack_from(buffer, offset + _VERSION_PLACE)
                offset += _STAT_BYTES
            elif kind == _ERROR:
                result = Refused(_INT.unpack_from(buffer, offset)[0])
                offset += 4
            results.append(result)
            kind, done, _ = _MULTI_HEAD.unpack_from(buffer, offset)
            offset += 9
        return results

    def __repr__(self) -> str:
        return f"transaction of {len(self._body)} bytes"


@attrs.frozen(weakref_slot=False)
class Refused:
    """ZooKeeper's answer for an operation of a refused transaction. 0 and -2 are the codes of operations that did not
    fail themselves."""

    code: int

    @property
    def itself(self) -> bool:
        """Whether this operation is the one that failed."""
        return self.code not in {0, -2}
