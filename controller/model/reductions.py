"""What a reduction wants of a partition (KIP-694): the entries of /admin/delete_topic_partitions/<t>, and the codes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeAlias

from controller.model.frozen import frozen
from controller.model.values import Extra

ONLINE: Final = 0
READ_ONLY: Final = -1  # it can be read, and no leader takes records for it
OFFLINE: Final = 1  # it cannot be used, and whoever holds a log of it deletes that


@frozen
class Retirement:
    """What a reduction wants of one partition: since when (Unix milliseconds: what its retention is counted from), and
    whether at once."""

    timestamp_ms: int
    immediate: bool
    extra: Extra | None = None


Retirements: TypeAlias = Mapping[int, Retirement]
"""The partitions of a topic that go, by id."""

_ENTRY_BYTES: Final = 37  # of `"":{"timestamp":,"immediate":false},` and one more


def entries_bytes_max(entries: Retirements) -> int:
    """How many bytes the entries take in their key at most, but for fields of others."""
    return sum([_ENTRY_BYTES + len(str(p)) + len(str(one.timestamp_ms)) for p, one in entries.items()])
