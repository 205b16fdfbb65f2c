"""Ephemeral keys in a commit: a key cannot change between ephemeral and ordinary.

Rules
* ZooKeeper would rewrite a node of either kind, so the owner is looked up before. The version that was found is pinned:
  the write expects it, so the transaction is refused if the key changed hands in between.
* Only commits that need the lookup pay for it: a Put of an existing ephemeral key, and an ordinary Put of a key that
  this session may have put as an ephemeral one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kazoo.protocol.serialization import Exists

from ..base import ABSENT, Invalid, Op, Put
from .link import Link
from .plan import Seen


class Kinds:
    """The check of one commit; it puts pinned versions into `seen`."""

    def __init__(self, link: Link, seen: Seen, deadline_s: float) -> None:
        self._link = link
        self._seen = seen
        self._deadline_s = deadline_s

    def demand(self, ops: Sequence[Op], session_id: int) -> None:
        """Raise Invalid if an op would make an ephemeral key ordinary or the reverse."""
        for op in ops:
            if isinstance(op, Put) and op.expect is not ABSENT and (op.ephemeral or op.key in self._link.ephemerals):
                self._demand_same_kind(op, session_id)
        self._link.ephemerals.update(op.key for op in ops if isinstance(op, Put) and op.ephemeral)

    def _pin(self, key: str) -> int | None:
        """Pin the version that is there now, so that its owner stays the same; return the owner."""
        path = self._link.address.chroot + key
        stat = self._stat(path, key)
        if stat is None:
            self._seen.pinned.pop(path, None)
            return None
        self._seen.pinned[path] = stat.version
        owner: int = stat.ephemeralOwner
        return owner

    def _demand_same_kind(self, op: Put, session_id: int) -> None:
        owner = self._pin(op.key)
        if owner is None:
            return  # it is absent: the transaction reports that in its order
        if op.ephemeral and owner != session_id:
            raise Invalid(f"{op.key}: not an ephemeral key of this session, and cannot become one", key=op.key)
        if not op.ephemeral and owner == session_id:
            raise Invalid(f"{op.key}: an ephemeral key of this session must be put with ephemeral=True", key=op.key)

    def _stat(self, path: str, key: str) -> Any:
        try:
            return self._link.wait(self._link.send(Exists(path, None)), self._deadline_s)
        except Exception as error:
            raise self._link.failed(error, sent=False, key=key) from error
