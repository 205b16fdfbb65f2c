"""The store as a term reads it: the key of a topic or a partition that this controller may not read counts as
unreadable. A controller that may not read any other key does not lead (docs/decisions/0104).

On some stores, access lists belong to single keys, and a bulk read with one forbidden key is refused as a whole. One
forbidden topic must not leave the cluster without a controller. So forbidden keys are found by halving the read, and
returned as FORBIDDEN with the version UNREAD: a type of its own, and no version. Each kind of key decides what that
means (`unreadable`).

Once FORBIDDEN_MAX keys are known to be forbidden, reads are not halved any more: all keys of a refused read count as
forbidden. `look_again` checks all of them, some at a time, and finds those that have become readable.

Any decision may need other keys, and the names below a parent: a controller that may not read them is deposed, and
`ask_again` checks that again before the next election.
"""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from ...stores.base import (
    Capabilities,
    Columns,
    Commit,
    Depth,
    Entry,
    MetadataStore,
    Op,
    Session,
    Snapshot,
    Subscription,
    Unauthorized,
    Version,
)
from ...stores.checks import parent
from ..codec import keys as paths
from ..keys.unreadable import FORBIDDEN, forbidden
from ..model.records import UNREAD
from .deposed import Deposed

__all__ = ["FORBIDDEN", "FORBIDDEN_MAX", "LOOKS_MAX", "ReadableStore"]

FORBIDDEN_MAX: Final = 1_000  # known forbidden keys, from which on refused reads are not halved
LOOKS_MAX: Final = 100  # reads in one `look_again`
_TOGETHER: Final = 1_000  # keys per read of `look_again`
_NAMED_MAX: Final = 1_000  # findings


class ReadableStore(MetadataStore):
    """`inner`, with forbidden keys that read as FORBIDDEN. `forbidden`: those found so far and not yet found readable
    or deleted."""

    def __init__(self, inner: MetadataStore) -> None:
        self.inner: Final = inner
        self.forbidden: dict[str, None] = {}
        self._unasked = False  # some of them were not read one by one
        self._refused: tuple[str, Callable[..., object]] | None = None  # a refused read that leading needs

    def forget(self) -> None:
        """A term begins: everything is read again."""
        self.forbidden, self._unasked = {}, False

    def get(self, key: str, *, sync: bool = False, timeout_s: float) -> Entry | None:
        try:
            entry = self.inner.get(key, sync=sync, timeout_s=timeout_s)
        except Unauthorized:
            self._forbid([key])
            return Entry(key, FORBIDDEN, Version(UNREAD), 0, 0)
        self._allow([key])
        return entry

    def get_many(self, keys: Sequence[str], *, timeout_s: float) -> list[Entry | None]:
        try:
            entries = self.inner.get_many(keys, timeout_s=timeout_s)
        except Unauthorized:
            if len(keys) == 1 or self._knows_enough():
                self._forbid(keys)
                return [Entry(key, FORBIDDEN, Version(UNREAD), 0, 0) for key in keys]
            half = len(keys) // 2
            return [part for some in (keys[:half], keys[half:]) for part in self.get_many(some, timeout_s=timeout_s)]
        self._allow(keys)
        return entries

    def get_columns(self, keys: Sequence[str], *, timeout_s: float) -> Columns:
        try:
            columns = self.inner.get_columns(keys, timeout_s=timeout_s)
        except Unauthorized:
            if len(keys) == 1 or self._knows_enough():
                self._forbid(keys)
                return Columns([FORBIDDEN] * len(keys), array("q", [UNREAD]) * len(keys), array("q", [0]) * len(keys))
            half = len(keys) // 2
            first, second = (self.get_columns(some, timeout_s=timeout_s) for some in (keys[:half], keys[half:]))
            return Columns(
                first.values + second.values,
                first.versions + second.versions,
                first.generations + second.generations,
            )
        self._allow(keys)
        return columns

    def children(self, key: str, *, timeout_s: float) -> list[str]:
        try:
            names = self.inner.children(key, timeout_s=timeout_s)
        except Unauthorized:
            raise self._deposed(f"what is below {key}", partial(self.inner.children, key)) from None
        if self.forbidden:
            there = set(names)
            gone = (one for one in self.forbidden if parent(one) == key and one.rpartition("/")[2] not in there)
            self._allow(list(gone))
        return names

    # --- what is forbidden

    def _knows_enough(self) -> bool:
        return len(self.forbidden) >= FORBIDDEN_MAX

    def _forbid(self, keys: Sequence[str]) -> None:
        """Mark keys as forbidden. Raises Deposed for one that is neither a topic's nor a partition's."""
        for key in keys:
            if parent(key) != paths.TOPICS and paths.partition_of(key) is None:
                raise self._deposed(key, partial(self.inner.get, key)) from None
        self.forbidden.update(dict.fromkeys(keys))
        self._unasked |= len(keys) > 1

    def _allow(self, keys: Sequence[str]) -> None:
        if self.forbidden:
            for key in keys:
                self.forbidden.pop(key, None)
            self._unasked &= bool(self.forbidden)

    def _deposed(self, what: str, read: Callable[..., object]) -> Deposed:
        self._refused = what, read
        return Deposed(f"stands by: the store does not let this controller read {what}")

    @property
    def is_refused(self) -> bool:
        """Whether a read was refused that leading needs."""
        return self._refused is not None

    def ask_again(self, timeout_s: float) -> None:
        """Raise Deposed if a read that leading needs is still refused. Raises the store's errors."""
        if self._refused is not None:
            what, read = self._refused
            try:
                read(timeout_s=timeout_s)
            except Unauthorized:
                raise self._deposed(what, read) from None
            self._refused = None

    def look_again(self, timeout_s: float) -> list[str]:
        """The forbidden keys that have become readable, or are deleted: as many as LOOKS_MAX reads find, in turn.
        Raises the store's errors."""
        known = list(self.forbidden)
        parts = deque(known[at : at + _TOGETHER] for at in range(0, len(known), _TOGETHER))
        readable: list[str] = []
        for _ in range(LOOKS_MAX):
            if not parts:
                break
            part = parts.popleft()
            try:
                self.inner.get_columns(part, timeout_s=timeout_s)
            except Unauthorized:
                if len(part) == 1:
                    self._allow(part)
                    self._forbid(part)  # at the end, so that the others are checked first the next time
                else:
                    half = len(part) // 2
                    parts.extendleft((part[half:], part[:half]))
            else:
                self._allow(part)
                readable += part
        return readable

    def findings(self) -> dict[str, str]:
        """The findings about forbidden keys, by key; for many keys, only the first. From any thread."""
        known = list(self.forbidden)
        said = {key: forbidden(key) for key in known[:_NAMED_MAX]}
        if len(known) > _NAMED_MAX:
            said["forbidden keys"] = f"{len(known)} keys may not be read; {_NAMED_MAX} of them are named"
        if self._unasked:
            said["forbidden keys"] = (
                f"{len(known)} keys count as forbidden: so many may not be read that the other keys of a refused read "
                "are not checked one by one"
            )
        return said

    # --- unchanged methods

    @property
    def capabilities(self) -> Capabilities:
        return self.inner.capabilities

    @property
    def session(self) -> Session:
        return self.inner.session

    @property
    def session_timeout_s(self) -> float:
        return self.inner.session_timeout_s

    def created_below(self, key: str, *, timeout_s: float) -> int:
        return self.inner.created_below(key, timeout_s=timeout_s)

    def snapshot(self, prefix: str, *, timeout_s: float) -> Snapshot:
        return self.inner.snapshot(prefix, timeout_s=timeout_s)

    def commit(self, ops: Sequence[Op], *, timeout_s: float) -> Commit:
        return self.inner.commit(ops, timeout_s=timeout_s)

    def subscribe(self, prefix: str, depth: Depth, cursor: int | None = None) -> Subscription:
        return self.inner.subscribe(prefix, depth, cursor)

    def another_session(self) -> MetadataStore:
        return self.inner.another_session()

    def close(self) -> None:
        self.inner.close()
