"""Translates keys of the contract to keys of etcd, and back.

Rules
* etcd's key is the root followed by the key: `/a/b` below the root `/r` is `/r/a/b`. The range below a prefix begins
  with the prefix and a slash, so that `/dir2` is not below `/dir`.
* Keys of other programs in the range that are not keys of the contract are skipped.
"""

from __future__ import annotations

import re
from typing import Final

_LOWEST: Final = b"-"  # the first character, by its byte, that a segment may have
_AFTER_SLASH: Final = b"0"
_KEY: Final = re.compile(rb"(?:/(?!\.{1,2}(?:/|\Z))[A-Za-z0-9._<>-]+)+")
_SEGMENT: Final = re.compile(rb"(?!\.{1,2}\Z)[A-Za-z0-9._<>-]+")


def is_segment(raw: bytes) -> bool:
    """Whether the bytes may be a segment of a key."""
    return _SEGMENT.fullmatch(raw) is not None


class Keys:
    """The translation below one root."""

    def __init__(self, root: str) -> None:
        self.root: Final = root.encode()
        self._length: Final = len(self.root)

    def of(self, key: str) -> bytes:
        return self.root + key.encode()

    def below(self, prefix: str) -> tuple[bytes, bytes]:
        """The range (first, end) of all keys below `prefix`."""
        if prefix == "/":
            return self.root + b"/" + _LOWEST, self.root + _AFTER_SLASH
        start = self.of(prefix)
        return start + b"/", start + _AFTER_SLASH

    def key(self, raw: bytes) -> str | None:
        """The key of the contract; None if it is not one."""
        key = raw[self._length :]
        return key.decode() if _KEY.fullmatch(key) is not None else None
