"""The store as a term uses it: a controller that may not read or write a key, or list the keys below one, stands by.

Any decision may need the key, so nothing replaces it. The term ends (`CannotLead`, which names the key), `/controller`
is given up, and another controller that has the right leads. Before the next election `ask_again` checks the right
again: a refused read is repeated; a write can only be tried by a leader, so a refused one is tried again after a while.

On some stores access lists belong to single keys, and a bulk read with one forbidden key is refused as a whole. That
key is then found by halving the read.
"""

from __future__ import annotations

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
)
from .cannot_lead import CannotLead

WRITE_AGAIN_MS: Final = 5_000  # after a refused write
_NAMED_MAX: Final = 5  # keys of a refused write, if the store does not say which of them it is


class PermittedStore(MetadataStore):
    """`inner`, which raises CannotLead instead of Unauthorized."""

    def __init__(self, inner: MetadataStore) -> None:
        self.inner: Final = inner
        self._refused: str | None = None  # what this controller may not do, as words
        self._read: Callable[..., object] | None = None  # the refused read; None: it was a write
        self._write_at_ms: int | None = None

    def get(self, key: str, *, sync: bool = False, timeout_s: float) -> Entry | None:
        try:
            return self.inner.get(key, sync=sync, timeout_s=timeout_s)
        except Unauthorized:
            raise self._unreadable(key) from None

    def get_many(self, keys: Sequence[str], *, timeout_s: float) -> list[Entry | None]:
        try:
            return self.inner.get_many(keys, timeout_s=timeout_s)
        except Unauthorized:
            raise self._unreadable(self._one_of(keys, timeout_s)) from None

    def get_columns(self, keys: Sequence[str], *, timeout_s: float) -> Columns:
        try:
            return self.inner.get_columns(keys, timeout_s=timeout_s)
        except Unauthorized:
            raise self._unreadable(self._one_of(keys, timeout_s)) from None

    def children(self, key: str, *, timeout_s: float) -> list[str]:
        try:
            return self.inner.children(key, timeout_s=timeout_s)
        except Unauthorized:
            raise self._stands_by(f"read what is below {key}", partial(self.inner.children, key)) from None

    def created_below(self, key: str, *, timeout_s: float) -> int:
        try:
            return self.inner.created_below(key, timeout_s=timeout_s)
        except Unauthorized:
            raise self._stands_by(f"read what is below {key}", partial(self.inner.created_below, key)) from None

    def commit(self, ops: Sequence[Op], *, timeout_s: float) -> Commit:
        try:
            return self.inner.commit(ops, timeout_s=timeout_s)
        except Unauthorized as error:
            raise self._stands_by(f"write {error.key or _named(ops)}", None) from None

    # --- what is refused

    def _one_of(self, keys: Sequence[str], timeout_s: float) -> str:
        """A key that makes the store refuse the read of `keys`."""
        while len(keys) > 1:
            half = len(keys) // 2
            try:
                self.inner.get_many(keys[:half], timeout_s=timeout_s)
            except Unauthorized:
                keys = keys[:half]
            else:
                keys = keys[half:]
        return keys[0]

    def _unreadable(self, key: str) -> CannotLead:
        return self._stands_by(f"read {key}", partial(self.inner.get, key))

    def _stands_by(self, what: str, read: Callable[..., object] | None) -> CannotLead:
        if self._refused is None:  # what gives the leadership up may be refused too: the first one is the reason
            self._refused, self._read, self._write_at_ms = what, read, None
        return CannotLead(f"stands by: the store does not let this controller {what}")

    @property
    def is_refused(self) -> bool:
        """Whether a read or write was refused that leading needs."""
        return self._refused is not None

    def ask_again(self, now_ms: int, timeout_s: float) -> None:
        """Raise CannotLead if what leading needs is still refused, or was a write that is not tried yet. `now_ms`: as
        `elapsed_ms`. Raises the store's errors."""
        if self._refused is None:
            return
        if self._read is None:
            if self._write_at_ms is None:
                self._write_at_ms = now_ms + WRITE_AGAIN_MS
            if now_ms < self._write_at_ms:
                raise self._stands_by(self._refused, None)
        else:
            try:
                self._read(timeout_s=timeout_s)
            except Unauthorized:
                raise self._stands_by(self._refused, self._read) from None
        self._refused = None

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

    def snapshot(self, prefix: str, *, timeout_s: float) -> Snapshot:
        return self.inner.snapshot(prefix, timeout_s=timeout_s)

    def subscribe(self, prefix: str, depth: Depth, cursor: int | None = None) -> Subscription:
        return self.inner.subscribe(prefix, depth, cursor)

    def another_session(self) -> MetadataStore:
        return self.inner.another_session()

    def close(self) -> None:
        self.inner.close()


def _named(ops: Sequence[Op]) -> str:
    """The keys of a commit, of which the store refused one."""
    keys = [op.key for op in ops]
    more = f" and {len(keys) - _NAMED_MAX} others" if len(keys) > _NAMED_MAX else ""
    return f"one of {', '.join(keys[:_NAMED_MAX])}{more}"
