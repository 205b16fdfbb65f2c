"""Keys that are numbered in the order in which they were put, and numbers for anything else."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

import tenacity

from stores.base import ABSENT, Conflict, Corrupt, MetadataStore, OutcomeUnknown, Put
from stores.checks import below

_DECIMAL: Final = re.compile(rb"[0-9]{1,19}")
NUMBER_MAX: Final = 2**31 - 1
"""What ZooKeeper's own sequences, and Kafka's listeners, can count."""

_DIGITS: Final = 10
_TRIES_MAX: Final = 100  # of which each is lost to somebody else who got a number


def next_in_sequence(store: MetadataStore, parent: str, prefix: str, timeout_s: float) -> int:
    """The number that the next child of `parent` named `<prefix><ten digits>` gets: above that of every child there is,
    and on ZooKeeper what its own sequence goes on with, so that it never goes back whoever puts such children there.

    Put it with ABSENT, in whatever commit it belongs to; after a Conflict that names it ask again, for somebody else
    was first. Where the backend does not count (`created_below`) numbers go back if the newest child is deleted: who
    purges leaves that one. Raises what the store raises.
    """
    created = store.created_below(parent, timeout_s=timeout_s)
    return max(created, 1 + max(_numbers(prefix, store.children(parent, timeout_s=timeout_s)), default=-1))


def sequence_key(parent: str, prefix: str, number: int) -> str:
    """The key with this number, as ZooKeeper names its sequential nodes."""
    return f"{below(parent)}{prefix}{number:0{_DIGITS}d}"


def number_in_sequence(prefix: str, name: str) -> int | None:
    """The number of a child named `name`; None where it is none of the sequence."""
    tail = name.removeprefix(prefix)
    if not name.startswith(prefix) or len(tail) != _DIGITS or not (tail.isascii() and tail.isdigit()):
        return None
    return int(tail) if int(tail) <= NUMBER_MAX else None


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
    if number > NUMBER_MAX:
        raise Corrupt(f"{key}: no number is left above {number - 1}", key=key)
    assert version is not None  # a Put always has one
    store.commit([Put(key, b"%d" % number, version)], timeout_s=timeout_s)
    return number


def _numbers(prefix: str, names: Sequence[str]) -> list[int]:
    return [number for name in names if (number := number_in_sequence(prefix, name)) is not None]
