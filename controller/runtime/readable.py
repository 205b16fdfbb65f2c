"""The store as a term reads it: the key of a topic or a partition that this controller may not read is one that nobody
can read, and no more. Who may not read any other key does not lead (docs/decisions/0104).

Access lists stand at single keys on some stores, and a bulk read that meets a forbidden one is refused as a whole. A
takeover that fell over it would leave the cluster without a controller for the sake of one topic. So what is forbidden
is found out by halving the read, and stands there as FORBIDDEN at UNREAD: a type of its own, and no version. What that
means is decided by kind of key (`unreadable`).

Once FORBIDDEN_MAX keys are known to be forbidden nothing more is halved: what was asked for together with a forbidden
key is taken as forbidden, too. `look_again` finds out of all of them, some at a time, which can be read by now.

Any other key, and the names below a parent, say what every decision may need: whoever may not read them is deposed,
and `ask_again` tells it before the next election whether that is so still.
"""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from controller.codec import keys as paths
from controller.keys.unreadable import FORBIDDEN, forbidden
from controller.model.records import UNREAD
from controller.runtime.deposed import Deposed
from stores.base import (
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
from stores.checks import parent

__all__ = ["FORBIDDEN", "FORBIDDEN_MAX", "LOOKS_MAX", "ReadableStore"]

FORBIDDEN_MAX: Final = 1_000  # known forbidden keys, from which on no refused read is halved
LOOKS_MAX: Final = 100  # reads in one `look_again`
_TOGETHER: Final = 1_000  # keys in one read of it
_NAMED_MAX: Final = 1_000  # findings


class ReadableStore(MetadataStore):
    """`inner`, whose forbidden keys can be read as FORBIDDEN. `forbidden`: those of them that were met, and were not
    readable or gone since."""

    def __init__(self, inner: MetadataStore) -> None:
        self.inner: Final = inner
        self.forbidden: dict[str, None] = {}
        self._unasked = False  # some of them were not asked for by themselves
        self._refused: tuple[str, Callable[..., object]] | None = None  # a read without which nobody may lead

    def forget(self) -> None:
        """A term begins: everything is read anew."""
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
        """Raises Deposed for a key that is no topic's and no partition's."""
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
        """Whether a read was refused without which nobody may lead."""
        return self._refused is not None

    def ask_again(self, timeout_s: float) -> None:
        """Nothing is refused any more that is needed to lead, or Deposed. Raises what the store raises."""
        if self._refused is not None:
            what, read = self._refused
            try:
                read(timeout_s=timeout_s)
            except Unauthorized:
                raise self._deposed(what, read) from None
            self._refused = None

    def look_again(self, timeout_s: float) -> list[str]:
        """The forbidden keys that can be read by now, or are gone: as many as LOOKS_MAX reads find out, in turn. Raises
        what the store raises."""
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
                    self._forbid(part)  # behind the others: they are looked at first the next time
                else:
                    half = len(part) // 2
                    parts.extendleft((part[half:], part[:half]))
            else:
                self._allow(part)
                readable += part
        return readable

    def findings(self) -> dict[str, str]:
        """What is said of forbidden keys, by key; of many the first. From any thread."""
        known = list(self.forbidden)
        said = {key: forbidden(key) for key in known[:_NAMED_MAX]}
        if len(known) > _NAMED_MAX:
            said["forbidden keys"] = f"{len(known)} keys may not be read; {_NAMED_MAX} of them are named"
        if self._unasked:
            said["forbidden keys"] = (
                f"{len(known)} keys count as forbidden: so many may not be read that what was asked for together with "
                "one of those was not asked for again by itself"
            )
        return said

    # --- as it is

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
