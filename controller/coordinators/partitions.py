"""The partition of an internal topic that holds a group or a transactional id: by Kafka's rule."""

from __future__ import annotations

from typing import Final

OFFSETS_TOPIC: Final = "__consumer_offsets"
TRANSACTIONS_TOPIC: Final = "__transaction_state"
INTERNAL_TOPICS: Final = frozenset({OFFSETS_TOPIC, TRANSACTIONS_TOPIC})
_BITS: Final = 32


def java_hash(text: str) -> int:
    """`String.hashCode()`: over UTF-16 units, as a signed number of 32 bits."""
    value = 0
    units = text.encode("utf-16-be", "surrogatepass")
    for place in range(0, len(units), 2):
        value = (value * 31 + int.from_bytes(units[place : place + 2])) % 2**_BITS
    return value - 2**_BITS if value >= 2 ** (_BITS - 1) else value


def partition_of(key: str, partitions: int) -> int:
    """The partition of `key` (a group or a transactional id), out of so many. The one number
    without a positive counterpart counts as 0."""
    value = java_hash(key)
    return (0 if value == -(2 ** (_BITS - 1)) else abs(value)) % partitions
