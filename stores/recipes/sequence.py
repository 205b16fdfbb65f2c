"""Keys that are numbered in the order in which they were put."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

import attrs

from stores.base import (
    ABSENT,
    Corrupt,
    MetadataStore,
    Op,
    Put,
    below,
)

_DECIMAL: Final = re.compile(rb"[0-9]{1,19}")
_NUMBER_MAX: Final = 2**31 - 1  # what ZooKeeper's own sequences, and Kafka's listeners, can count
_DIGITS: Final = 10


@attrs.frozen
class Appended:
    """Keys of a sequence that are ready to be put: `ops` belong into one commit (a fenced one, mostly), `keys` are what
    they create. After a Conflict on `counter_key` make them anew: somebody else appended."""

    ops: tuple[Op, ...]
    keys: tuple[str, ...]
    counter_key: str


def append_sequence(
    store: MetadataStore, parent: str, prefix: str, values: bytes | Sequence[bytes], timeout_s: float
) -> Appended:
    """The ops that append `values` below `parent` as `<prefix><ten digits>`, numbered in their order.

    The number of the next one is kept in the value of `parent` (decimal text), so that numbers never go back, even
    after all children were purged: Kafka's listeners skip what is not above the last they saw. Where `parent` holds no
    number yet, it begins above the highest child. Two appends to one parent do not fit into one commit: give all values
    at once. Raises Corrupt if `parent` holds something else.
    """
    counter = store.get(parent, sync=True, timeout_s=timeout_s)
    if counter is not None and counter.value:
        number = _decode_number(parent, counter.value)
    else:
        number = 1 + max(_numbers(prefix, store.children(parent, timeout_s=timeout_s)), default=-1)
    values = (values,) if isinstance(values, bytes) else tuple(values)
    if number + len(values) > _NUMBER_MAX:
        raise Corrupt(f"{parent}: no number is left above {number - 1}", key=parent)
    keys = tuple(f"{below(parent)}{prefix}{number + index:0{_DIGITS}d}" for index in range(len(values)))
    count = Put(parent, b"%d" % (number + len(values)), ABSENT if counter is None else counter.version)
    puts = (Put(key, value, ABSENT) for key, value in zip(keys, values, strict=True))
    return Appended((count, *puts), keys, parent)


def _decode_number(parent: str, value: bytes) -> int:
    if _DECIMAL.fullmatch(value) is None:
        raise Corrupt(f"{parent}: not the counter of a sequence: {value!r:.100}", key=parent)
    return int(value)


def _numbers(prefix: str, names: Sequence[str]) -> list[int]:
    tails = (name.removeprefix(prefix) for name in names if name.startswith(prefix))
    return [int(tail) for tail in tails if len(tail) == _DIGITS and tail.isascii() and tail.isdigit()]
