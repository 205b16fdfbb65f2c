"""Reads topic keys, configs and state keys by the thousand, for a takeover.

* A value in exactly the form that Kafka and Kedge write is read by one regular expression over thousands of keys at
  once, without an object per key; every other value is parsed as JSON, many at a time.
* Equal lists of broker ids are read once and become one object, here and in the topic keys, so that comparing them
  costs nothing; so do equal settings.
* The outcome equals that of reading each key alone, with a BadValue in the place of a broken one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypeVar

import attrs

from ..model.values import NO_EPOCH, NO_LEADER, Partition, Replicas
from . import partition_state, small, topic
from .partition_state import Idle
from .text import EPOCH_MAX, INT32_MAX, BadValue, fields, parse_many
from .topic import TopicKey

_CHUNK: Final = 2000  # values parsed at once: a broken one among them makes all be parsed again, one by one
_T = TypeVar("_T")

_NUMBER: Final = rb"(?:0|[1-9]\d{0,9})"
_IDS: Final = _NUMBER + rb"(?:," + _NUMBER + rb")*"
_STATE: Final = re.compile(
    rb'(?m)^(?:\{"controller_epoch":%b,"leader":(-[12]|%b),"version":1,"leader_epoch":(%b),"isr":\[(%b)\]\}|.*)$'
    % (_NUMBER, _NUMBER, _NUMBER, _IDS)
)
_EACH: Final = rb'"%b":\[%b\]' % (_NUMBER, _IDS)
_PARTITIONS: Final = re.compile(rb'"partitions":\{(%b(?:,%b)*)\}' % (_EACH, _EACH))
_NO_PARTITIONS: Final = b'"partitions":{}'
_PARTITION: Final = re.compile(rb'"(\d+)":\[([\d,]+)\]')  # within a match of the expression above


@attrs.define
class States:
    """State keys as columns, in the order of the request. Where a key is absent, or has more fields than an idle
    partition, isr is () and leader and leader epoch are -1; in the latter case `more` has its content by its place:
    parsed JSON, or a BadValue."""

    isrs: list[Replicas] = attrs.field(factory=list)
    leaders: list[int] = attrs.field(factory=list)
    leader_epochs: list[int] = attrs.field(factory=list)
    more: dict[int, object] = attrs.field(factory=dict)

    def put(self, place: int, said: Idle) -> None:
        self.isrs[place], self.leaders[place], self.leader_epochs[place] = said

    def partition(self, place: int, name: str, number: int, replicas: Replicas, now_ms: int) -> Partition:
        """The partition of the key in this place. Raises BadValue."""
        if place in self.more:
            said = self.more[place]
            if isinstance(said, BadValue):
                raise said
            return partition_state.decode(said, name, number, replicas, now_ms)
        isr, leader, leader_epoch = self.isrs[place], self.leaders[place], self.leader_epochs[place]
        return Partition(name, number, replicas, isr, leader, leader_epoch)


class _Numbers(dict[bytes, int]):
    """Numbers by their texts. Each is read once and becomes one object."""

    def __missing__(self, text: bytes) -> int:
        number = self[text] = int(text)
        return number


class _Lists(dict[bytes, Replicas]):
    """Lists of broker ids by their texts; () where they are invalid."""

    def __init__(self, numbers: _Numbers) -> None:
        super().__init__({b"": ()})
        self._number = numbers.__getitem__

    def __missing__(self, text: bytes) -> Replicas:
        ids = tuple(map(self._number, text.split(b",")))
        is_good = len(set(ids)) == len(ids) and max(ids) <= INT32_MAX
        found = self[text] = ids if is_good else ()
        return found


class Bulk:
    """The keys of one load. It remembers the lists and numbers that it has read."""

    def __init__(self) -> None:
        self._lists: dict[Replicas, Replicas] = {}
        self._numbers = _Numbers({b"": NO_LEADER})  # also NO_EPOCH
        self._by_text = _Lists(self._numbers)
        self._places: list[bytes] = []  # the texts of 0, 1, 2 ...

    # --- topics

    def topics(self, names: Sequence[str], values: Sequence[bytes]) -> Iterator[TopicKey | BadValue]:
        """The content of each topic key, or its BadValue, in the order of `names`."""
        found, rest = [], []
        for value in values:
            assignments, others = self._assignments(value)
            found.append(assignments)
            rest.append(others)
        for name, value, raw, assignments in zip(names, values, _parsed(rest), found, strict=True):
            if assignments is not None and (type(raw) is not dict or raw.get("partitions") != {}):
                yield _or_error(lambda: topic.decode(value, name))  # noqa: B023 - those were of something within the key
            elif isinstance(raw, BadValue):
                yield raw
            else:
                yield _or_error(lambda: topic.of(raw, name, self._lists, assignments))  # noqa: B023

    def _assignments(self, value: bytes) -> tuple[tuple[Replicas, ...] | None, bytes]:
        """R of each partition, and the value without them. None, and the value, where the expression does not match."""
        match = _PARTITIONS.search(value)
        if match is None or _PARTITIONS.search(value, match.end()) is not None:
            return None, value
        said = dict(_PARTITION.findall(match[1]))
        self._places += [b"%d" % place for place in range(len(self._places), len(said))]
        lists = tuple([self._by_text[said.get(place, b"")] for place in self._places[: len(said)]])
        if () in lists:
            return None, value
        return lists, value[: match.start()] + _NO_PARTITIONS + value[match.end() :]

    def settings(self, values: Sequence[bytes | None]) -> list[dict[str, str] | BadValue | None]:
        """The settings of each topic; None where it has no configs key."""
        found = {value: _or_error(lambda: small.decode_config(value)) for value in set(values) if value is not None}  # noqa: B023
        return [None if value is None else found[value] for value in values]

    # --- states

    def states(self, values: Sequence[bytes | None]) -> States:
        """The content of each state key."""
        states = States()
        for start in range(0, len(values), _CHUNK):
            chunk = [b"" if value is None else value for value in values[start : start + _CHUNK]]
            said = _STATE.findall(b"\n".join(chunk))
            if len(said) != len(chunk):  # a value has a line end in it
                said = [(b"", b"", b"")] * len(chunk)
            leaders, leader_epochs, isrs = zip(*said, strict=True)
            states.leaders += map(self._numbers.__getitem__, leaders)
            states.leader_epochs += map(self._numbers.__getitem__, leader_epochs)
            states.isrs += map(self._by_text.__getitem__, isrs)
        self._read_alone(values, states)
        return states

    def _read_alone(self, values: Sequence[bytes | None], states: States) -> None:
        """Read the values that the expression does not match."""
        if (
            all(states.isrs)
            and max(states.leaders, default=0) <= INT32_MAX
            and max(states.leader_epochs, default=0) <= EPOCH_MAX
        ):
            return
        columns = zip(values, states.isrs, states.leaders, states.leader_epochs, strict=True)
        places = [
            place
            for place, (value, isr, leader, epoch) in enumerate(columns)
            if value is not None and (not isr or leader > INT32_MAX or epoch > EPOCH_MAX)
        ]
        for place, raw in zip(places, _parsed([values[place] or b"" for place in places]), strict=True):
            states.put(place, ((), NO_LEADER, NO_EPOCH))
            said = self._state(raw)
            if isinstance(said, tuple):
                states.put(place, said)
            else:
                states.more[place] = said

    def _state(self, raw: object) -> Idle | dict[str, object] | BadValue:
        if isinstance(raw, BadValue):
            return raw
        try:
            found = fields(raw, "state")
            if found.keys() != partition_state.IDLE:
                return found  # the meaning of the other fields depends on R
            isr, leader, leader_epoch = partition_state.common(found)
        except BadValue as error:
            return error
        return self._lists.setdefault(isr, isr), leader, leader_epoch


def _parsed(values: Sequence[bytes]) -> Iterator[object]:
    for start in range(0, len(values), _CHUNK):
        yield from parse_many(values[start : start + _CHUNK])


def _or_error(read: Callable[[], _T]) -> _T | BadValue:
    try:
        return read()
    except BadValue as error:
        return error
