"""The memory that groups hold for clients, as an estimate in bytes, and its bound.

Rules
* Held is what a request leaves behind: a group, an id that was given out, a member, a committed offset. A client that
  invents group ids makes as many of them as it likes, so all groups of a process have one bound together. No group
  takes more than a part of it, and neither do all groups together that one principal created, once all groups hold
  half of it: where one login is for all clients, it has that half.
* The log does not say who created a group. A group that was loaded from it counts for no principal, and neither does
  one of a client without an identity.
* A request that would exceed the bound is refused as a whole, with an error after which clients try again later.
* What is there can be used in any case: a request by which nothing grows is never refused. Each member counts as
  `MEMBER` bytes at least, so that small changes of its metadata and of its assignment are no growth.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable
from typing import Final

import attrs

from ..model.values import TopicPartition
from .records import Committed

GROUP_SHARE: Final = 0.25
"""Of the bound: the part that a group may take, and the groups of one principal."""
MUCH_SHARE: Final = 0.5
"""Of the bound: what all groups may hold before a principal is held to its part."""
GROUP: Final = 2000
MEMBER: Final = 4000
_MEMBER_ID: Final = 100
_PROTOCOL: Final = 100
_OFFSET: Final = 500


@attrs.define(eq=False)
class Held:
    """The bytes that the groups of all coordinators of a process hold: all of them, and those of each principal."""

    bytes: int = 0
    by_principal: Counter[str] = attrs.field(factory=Counter)

    def add(self, principal: str, grown: int) -> None:
        """Count so many bytes more (or less, below 0) for all, and for this principal unless it is empty."""
        self.bytes += grown
        if principal:
            self.by_principal[principal] += grown
            if not self.by_principal[principal]:
                del self.by_principal[principal]


def by_ids(*ids: str) -> int:
    """Ids, each in a table."""
    return sum(_MEMBER_ID + sys.getsizeof(each) for each in ids)


def by_protocols(protocols: Iterable[tuple[str, bytes]]) -> int:
    return sum(_PROTOCOL + sys.getsizeof(name) + len(metadata) for name, metadata in protocols)


def by_offset(tp: TopicPartition, committed: Committed) -> int:
    return _OFFSET + sys.getsizeof(tp.topic) + sys.getsizeof(committed.metadata)
