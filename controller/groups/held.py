"""The memory that groups hold for clients, as an estimate in bytes: a group, an id that was given out, a member, a
committed offset. Its bound: `kedge.controller.coordinators.held`.

Each member counts as `MEMBER` bytes at least, so that small changes of its metadata and its assignment are no growth.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Final

from ..model.values import TopicPartition
from .records import Committed

GROUP: Final = 2000
MEMBER: Final = 4000
_PROTOCOL: Final = 100
_OFFSET: Final = 500


def by_protocols(protocols: Iterable[tuple[str, bytes]]) -> int:
    return sum(_PROTOCOL + sys.getsizeof(name) + len(metadata) for name, metadata in protocols)


def by_offset(tp: TopicPartition, committed: Committed) -> int:
    return _OFFSET + sys.getsizeof(tp.topic) + sys.getsizeof(committed.metadata)
