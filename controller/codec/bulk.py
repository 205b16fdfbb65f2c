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
_LONG: Final = 10  # length of a list's text from which on an id may be too large
_IDS: Final = _NUMBER + rb"(?:," + _NUMBER + rb")*"
_STATE: Final = re.compile(
    rb'(?m)^(?:\{"controller_epoch":%b,"leader":(-[12]|%b),"version":1,"leader_epoch":(%b),"isr":\[(%b)\]\}|.*)$'
    % (_NUMBER, _NUMBER, _NUMBER, _IDS)
)
_EACH: Final = rb'"%b":\[%b\]' % (_NUMBER, _IDS)
_PARTITIONS: Final = re.compile(rb'"partitions":\{(%b(?:,%b)*)\}' % (_EACH, _EACH))
_NONE: Final = b'"partitions":{}'
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


class Bulk:
    """The keys of one load. It remembers the lists that it has read."""

    def __init__(self) -> None:
        self._lists: dict[Replicas, Replicas] = {}
        self._by_text: dict[bytes, Replicas | None] = {b"": ()}

    # --- topics

    def topics(self, names: Sequence[str], values: Sequence[bytes]) -> Iterator[TopicKey | BadValue]:
        """The content of each topic key, or its BadValue, in the order of `names`."""
        found = [self._assignments(value) for value in values]
        rest = [v if f is None else _PARTITIONS.sub(_NONE, v) for v, f in zip(values, found, strict=True)]
        for name, value, raw, assignments in zip(names, values, _parsed(rest), found, strict=True):
            if assignments is not None and (type(raw) is not dict or raw.get("partitions") != {}):
                yield _or_error(lambda: topic.decode(value, name))  # noqa: B023 - those were of something within the key
            elif isinstance(raw, BadValue):
                yield raw
            else:
                yield _or_error(lambda: topic.of(raw, name, self._lists, assignments))  # noqa: B023

    def _assignments(self, value: bytes) -> tuple[Replicas, ...] | None:
        """R of each partition; None where the expression does not match."""
        found = _PARTITIONS.findall(value)
        if len(found) != 1:
            return None
        said = dict(_PARTITION.findall(found[0]))
        lists: list[Replicas] = []
        for number in range(len(said)):
            ids = self._ids(said.get(b"%d" % number, b""))
            if not ids:
                return None
            lists.append(ids)
        return tuple(lists)

    def _ids(self, text: bytes) -> Replicas | None:
        """The broker ids in a list's text; None where they are invalid."""
        try:
            return self._by_text[text]
        except KeyError:
            ids = tuple(map(int, text.split(b",")))
            is_good = len(set(ids)) == len(ids) and (len(text) < _LONG or max(ids) <= INT32_MAX)
            found = self._by_text[text] = ids if is_good else None
            return found

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
            states.leaders += [int(leader or NO_LEADER) for leader, _, _ in said]
            states.leader_epochs += [int(epoch or NO_EPOCH) for _, epoch, _ in said]
            isrs = [self._ids(isr) for _, _, isr in said]
            states.isrs += [isr or () for isr in isrs]
        self._read_alone(values, states)
        return states

    def _read_alone(self, values: Sequence[bytes | None], states: States) -> None:
        """Read the values that the expression does not match."""
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
