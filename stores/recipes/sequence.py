"""Numbered keys in the order in which they are put, and unique numbers."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final, ParamSpec, TypeVar

import tenacity

from ..base import ABSENT, Conflict, Corrupt, MetadataStore, OutcomeUnknown, Put
from ..checks import below

P = ParamSpec("P")
T = TypeVar("T")
_DECIMAL: Final = re.compile(rb"[0-9]{1,19}")
NUMBER_MAX: Final = 2**31 - 1
"""The maximum of ZooKeeper's own sequences and of Kafka's listeners."""

_DIGITS: Final = 10
_TRIES_MAX: Final = 100  # each fails because another client got a number


def next_in_sequence(store: MetadataStore, parent: str, prefix: str, timeout_s: float) -> int:
    """The number of the next child of `parent` named `<prefix><ten digits>`: above that of all children. On ZooKeeper
    it continues the server's own sequence, so that it never goes back, for any writer of such children.

    Put the key with ABSENT; after a Conflict that names it, another client was first: call again. If the backend does
    not count (`created_below`), numbers go back when the newest child is deleted; so do not delete that one. Raises the
    store's errors.
    """
    created = store.created_below(parent, timeout_s=timeout_s)
    return max(created, 1 + max(_numbers(prefix, store.children(parent, timeout_s=timeout_s)), default=-1))


def sequence_key(parent: str, prefix: str, number: int) -> str:
    """The key with this number, named as ZooKeeper names sequential nodes."""
    return f"{below(parent)}{prefix}{number:0{_DIGITS}d}"


def number_in_sequence(prefix: str, name: str) -> int | None:
    """The number of a child named `name`; None if it does not belong to the sequence."""
    tail = name.removeprefix(prefix)
    if not name.startswith(prefix) or len(tail) != _DIGITS or not (tail.isascii() and tail.isdigit()):
        return None
    return int(tail) if int(tail) <= NUMBER_MAX else None


def next_number(store: MetadataStore, key: str, timeout_s: float) -> int:
    """A number, at least 1, that no other call for `key` returns, on any backend. Numbers rise, with gaps.

    It is the key's generation, as in Kafka's `/brokers/seqid`: how often it was written since its creation. The value
    holds the number too (as decimal text), so that it does not begin again in a store that the key was copied to; other
    values are ignored. The write is repeated after a Conflict and after a lost reply, which skips a number. Raises the
    other errors of the store, and the last Conflict after 100 tries.
    """
    return taken(_count_on, store, key, timeout_s)


def taken(take: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """What `take(*args, **kwargs)` reads and writes for this caller alone: a number, a block of ids. Repeated after a
    Conflict and after a lost reply. Raises its other errors, and the last Conflict after 100 tries."""
    retrying = tenacity.Retrying(
        retry=tenacity.retry_if_exception_type((OutcomeUnknown, Conflict)),
        stop=tenacity.stop_after_attempt(_TRIES_MAX),
        sleep=lambda _: None,
        reraise=True,
    )
    return retrying(take, *args, **kwargs)


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
