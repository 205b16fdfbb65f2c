"""Keys that are numbered in the order in which they were put, and numbers for anything else."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

import attrs
import tenacity

from stores.base import (
    ABSENT,
    Conflict,
    Corrupt,
    MetadataStore,
    Op,
    OutcomeUnknown,
    Put,
    below,
)

_DECIMAL: Final = re.compile(rb"[0-9]{1,19}")
_NUMBER_MAX: Final = 2**31 - 1  # what ZooKeeper's own sequences, and Kafka's listeners, can count
_DIGITS: Final = 10
_TRIES_MAX: Final = 100  # of which each is lost to somebody else who got a number


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


def next_number(store: MetadataStore, key: str, timeout_s: float) -> int:
    """A number from 1 on that no other call for `key` gets, whoever makes it and on whatever backend; numbers rise, and
    some may be left out.

    It is the key's generation, as Kafka's `/brokers/seqid` counts: how often it was written since it was created. The
    number stands in the value as well (decimal text), so that it does not begin anew in a store that the key was copied
    to; a value that holds none is passed over. The write is repeated after a Conflict, and after a lost reply, which
    costs a number. Raises whatever else the store raises, and the last Conflict after 100 tries.
    """
    retrying = tenacity.Retrying(
        retry=tenacity.retry_if_exception_type((OutcomeUnknown, Conflict)),
        stop=tenacity.stop_after_attempt(_TRIES_MAX),
        sleep=lambda _: None,
        reraise=True,
    )
    return retrying(_count_on, store, key, timeout_s)


def _count_on(store: MetadataStore, key: str, timeout_s: float) -> int:
    entry = store.get(key, sync=True, timeout_s=timeout_s)
    if entry is None:
        commit = store.commit([Put(key, b"0", ABSENT)], timeout_s=timeout_s)
        version, generation, known = commit.versions[0], 0, 0
    else:
        version, generation = entry.version, entry.generation
        known = int(entry.value) if _DECIMAL.fullmatch(entry.value) else 0
    number = max(generation, known) + 1
    if number > _NUMBER_MAX:
        raise Corrupt(f"{key}: no number is left above {number - 1}", key=key)
    assert version is not None  # a Put always has one
    store.commit([Put(key, b"%d" % number, version)], timeout_s=timeout_s)
    return number


def _decode_number(parent: str, value: bytes) -> int:
    if _DECIMAL.fullmatch(value) is None:
        raise Corrupt(f"{parent}: not the counter of a sequence: {value!r:.100}", key=parent)
    return int(value)


def _numbers(prefix: str, names: Sequence[str]) -> list[int]:
    tails = (name.removeprefix(prefix) for name in names if name.startswith(prefix))
    return [int(tail) for tail in tails if len(tail) == _DIGITS and tail.isascii() and tail.isdigit()]
