"""Topic keys, settings and state keys by the thousand, as a takeover reads them.

Rules
* Many values are parsed as one array. What several keys hold alike is read once: settings, and states with just Kafka's
  fields, of which a cluster has far fewer than partitions.
* What is equal is one object: lists of brokers here and in the topic keys, so that comparing them costs nothing.
* The outcome is that of reading each key alone, a BadValue in the place of one that is not of its kind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypeVar

from controller.codec import partition_state, small, topic
from controller.codec.partition_state import Idle
from controller.codec.text import BadValue, fields, parse_many
from controller.codec.topic import TopicKey
from controller.model.values import Partition, Replicas, without_state

_CHUNK: Final = 2000  # values parsed at once: one broken among them costs the parse of as many, one by one
_T = TypeVar("_T")


class Bulk:
    """The keys of one load. It remembers what it has read."""

    def __init__(self) -> None:
        self._lists: dict[Replicas, Replicas] = {}

    def topics(self, names: Sequence[str], values: Sequence[bytes]) -> Iterator[TopicKey | BadValue]:
        """What each topic key says."""
        for name, raw in zip(names, _parsed(values), strict=True):
            yield raw if isinstance(raw, BadValue) else _or_error(lambda: topic.of(raw, name, self._lists))  # noqa: B023

    def settings(self, values: Sequence[bytes | None]) -> list[dict[str, str] | BadValue | None]:
        """What each settings key of a topic says, None where there is none."""
        found = {value: _or_error(lambda: small.decode_config(value)) for value in set(values) if value is not None}  # noqa: B023
        return [None if value is None else found[value] for value in values]

    def states(self, values: Sequence[bytes | None]) -> list[object]:
        """What each state key says, for `partition`."""
        distinct = [value for value in dict.fromkeys(values) if value is not None]
        found: dict[bytes | None, object] = dict(zip(distinct, map(self._state, _parsed(distinct)), strict=True))
        found[None] = None
        return [found[value] for value in values]

    def _state(self, raw: object) -> object:
        if isinstance(raw, BadValue):
            return raw
        try:
            found = fields(raw, "state")
            if found.keys() != partition_state.IDLE:
                return found  # what it says beside depends on R
            isr, leader, leader_epoch = partition_state.common(found)
        except BadValue as error:
            return error
        return self._lists.setdefault(isr, isr), leader, leader_epoch


def partition(said: object, name: str, number: int, replicas: Replicas, now_ms: int) -> Partition:
    """The partition of which the state key says this (of `Bulk.states`). Raises BadValue."""
    if type(said) is tuple:
        idle: Idle = said
        return Partition(name, number, replicas, *idle)
    if said is None:
        return without_state(name, number, replicas)
    if isinstance(said, BadValue):
        raise said
    return partition_state.decode(said, name, number, replicas, now_ms)


def _parsed(values: Sequence[bytes]) -> Iterator[object]:
    for start in range(0, len(values), _CHUNK):
        yield from parse_many(values[start : start + _CHUNK])


def _or_error(read: Callable[[], _T]) -> _T | BadValue:
    try:
        return read()
    except BadValue as error:
        return error
