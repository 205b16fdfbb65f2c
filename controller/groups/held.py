"""The memory that groups hold for clients, as an estimate in bytes, and its bound.

Rules
* Held is what a request leaves behind: a group, an id that was given out, a member, a committed offset. A client that
  invents group ids makes as many of them as it likes, so all groups of a process have one bound together. No group
  takes more than a part of it.
* A request that would exceed the bound is refused as a whole, with an error after which clients try again later.
* What is there can be used in any case: a request by which nothing grows is never refused. Each member counts as
  `MEMBER` bytes at least, so that small changes of its metadata and of its assignment are no growth.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Final

import attrs

from ..model.values import TopicPartition
from .records import Committed

GROUP_SHARE: Final = 0.25
GROUP: Final = 2000
MEMBER: Final = 4000
_MEMBER_ID: Final = 100
_PROTOCOL: Final = 100
_OFFSET: Final = 500


@attrs.define(eq=False)
class Held:
    """The bytes that the groups of all coordinators of a process hold."""

    bytes: int = 0


def by_ids(*ids: str) -> int:
    """Ids, each in a table."""
    return sum(_MEMBER_ID + sys.getsizeof(each) for each in ids)


def by_protocols(protocols: Iterable[tuple[str, bytes]]) -> int:
    return sum(_PROTOCOL + sys.getsizeof(name) + len(metadata) for name, metadata in protocols)


def by_offset(tp: TopicPartition, committed: Committed) -> int:
    return _OFFSET + sys.getsizeof(tp.topic) + sys.getsizeof(committed.metadata)
