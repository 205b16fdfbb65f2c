"""Entries of reductions (KIP-694), as /admin/delete_topic_partitions/<t> holds them, and the status codes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeAlias

import attrs

from .values import Extra

ONLINE: Final = 0
READ_ONLY: Final = -1  # consumers can read it; the leader refuses records of producers
OFFLINE: Final = 1  # it cannot be used, and every broker that holds a log of it deletes the log


@attrs.frozen
class Retirement:
    """The entry of one partition in a reduction: the time from which its retention counts (Unix milliseconds), and
    whether it goes offline at once."""

    timestamp_ms: int
    immediate: bool
    extra: Extra | None = None


Retirements: TypeAlias = Mapping[int, Retirement]
"""The partitions that a reduction removes from a topic, by id."""

_ENTRY_BYTES: Final = 37  # of `"":{"timestamp":,"immediate":false},` and one more


def entries_bytes_max(entries: Retirements) -> int:
    """An upper bound for the bytes of the entries in their key, without unknown fields."""
    return sum([_ENTRY_BYTES + len(str(p)) + len(str(one.timestamp_ms)) for p, one in entries.items()])
