"""The memory that coordinators hold for clients, as an estimate in bytes, and its bound.

Rules
* Held is what a request leaves behind. A client that invents names makes as many groups or transactional ids as it
  likes, so all of a process have one bound together. None of them takes more than a part of it, and neither do all
  together that one principal created, once all hold half of it: where one login is for all clients, it has that half.
* The log does not say who created something. What was loaded from it counts for no principal, and neither does
  what a client without an identity created.
* A request that would exceed the bound is refused as a whole, with an error after which clients try again later.
* What is there can be used in any case: a request by which nothing grows is never refused.
"""

from __future__ import annotations

import sys
from collections import Counter
from typing import Final, Protocol

import attrs

SHARE: Final = 0.25
"""Of the bound: the part that one may take, and all of one principal."""
MUCH_SHARE: Final = 0.5
"""Of the bound: what all may hold before a principal is held to its part."""
_ID: Final = 100


class Counted(Protocol):
    """A group or a transactional id. `principal`: empty if unknown."""

    principal: str
    counted_bytes: int


@attrs.define(eq=False)
class Held:
    """The bytes that all coordinators of a process hold, and of them those of each principal."""

    bytes: int = 0
    by_principal: Counter[str] = attrs.field(factory=Counter)

    def count(self, one: Counted, held_bytes: int) -> None:
        """It holds so many bytes now."""
        grown = held_bytes - one.counted_bytes
        one.counted_bytes = held_bytes
        self.bytes += grown
        if one.principal:
            self.by_principal[one.principal] += grown
            if not self.by_principal[one.principal]:
                del self.by_principal[one.principal]

    def has_room(self, bytes_max: int, principal: str, present: int, grown: int) -> bool:
        """Whether one that has `present` bytes and counts for this principal may grow by `grown`."""
        of_all, of_principal = self.bytes + grown, self.by_principal[principal] + grown
        is_fair = of_all <= bytes_max * MUCH_SHARE or of_principal <= bytes_max * SHARE
        return not grown or (of_all <= bytes_max and present + grown <= bytes_max * SHARE and is_fair)


def by_ids(*ids: str) -> int:
    """Ids, each in a table."""
    return sum(_ID + sys.getsizeof(each) for each in ids)
