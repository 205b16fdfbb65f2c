"""What operators asked for. Which throttles belong to them: by their writes and requests, and by the commits, not by a
controller's records.

* A value that another program writes to the settings of a topic or a broker is an operator's, where it is a change.
* An operator's request to the admin API may be carried out by each commit of those settings from then on, until its
  answer came or the term that got it is over. So there may be several possible states, each with the requests that are
  done in it.
* A commit shows which of them are possible: those with no value, or with a value that was ever an operator's. A
  throttle hides an operator's rate, also one that is set in the same commit.
* A successful answer means that the request was done, at the latest by then.
* A throttle that was requested to stay, and everything in a tree that begins with marks, is excluded from the checks.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from concurrent.futures import Future
from typing import Any, Final, TypeAlias

import attrs

from ...stores.base import Check, Delete, Put
from ..codec import BadValue, keys, small
from ..model.config_requests import AlterConfigOp, OpType
from ..model.throttles import CONFIGS, MarkKind
from ..model.values import TopicPartition
from ..rules.throttling.keeping import is_list, values_in
from .server import FOREIGN, Committed, RecordingServer

MARKS: Final = (keys.REPLICAS_REMOVAL, keys.RATES_REMOVAL)
_OLD_MARKS: Final = (keys.OLD_REPLICAS_REMOVAL, keys.OLD_RATES_REMOVAL)
_PARENTS: Final[Mapping[MarkKind, str]] = {"topics": keys.CONFIG_TOPICS, "brokers": keys.CONFIG_BROKERS}

Values: TypeAlias = tuple[str, ...]
_Setting: TypeAlias = tuple[MarkKind, str, str]


@attrs.frozen(eq=False)
class Asked:
    """A change that an operator requested in the term of `epoch`, and its answer."""

    setting: _Setting
    change: AlterConfigOp
    answer: Future[Any]
    epoch: int

    def after(self, values: Values) -> Values:
        said = values_in(self.change.name, self.change.value)
        if self.change.op is OpType.SUBTRACT:
            return tuple(value for value in values if value not in said)
        return tuple(dict.fromkeys((*values, *said))) if self.change.op is OpType.APPEND else said


_Possible: TypeAlias = frozenset[tuple[Values, frozenset[Asked]]]
"""The operator's possible values, each with the requests that are done then."""
_NOTHING: Final[_Possible] = frozenset({((), frozenset())})


@attrs.define(eq=False)
class Operators:
    """The operators' settings, updated with every commit. `unclean_asked`: partitions with a requested unclean
    election; `asked_to_forget`: brokers that were ever to be forgotten; `forgotten`: those that have been down since.
    `partitions`: those of the cluster, for requests about all of them."""

    unclean_asked: set[TopicPartition] = attrs.field(factory=set)
    asked_to_forget: set[int] = attrs.field(factory=set)
    forgotten: set[int] = attrs.field(factory=set)
    partitions: Collection[TopicPartition] = ()

    _possible: dict[_Setting, _Possible] = attrs.field(factory=dict)
    _ever: dict[_Setting, set[str]] = attrs.field(factory=dict)
    _there: dict[tuple[MarkKind, str], Mapping[str, str]] = attrs.field(factory=dict)
    _left_out: set[_Setting] = attrs.field(factory=set)
    _asked: list[Asked] = attrs.field(factory=list)
    _replacing: list[tuple[Future[Any], int]] = attrs.field(factory=list)
    _waiting: list[tuple[frozenset[TopicPartition], Future[Any]]] = attrs.field(factory=list)
    _epoch: int = 0

    def load(self, server: RecordingServer) -> None:
        """Begin with the content of `server`: it is an operator's, unless something is marked; then it is unknown."""
        rows = server.table.rows
        is_marked = any(key in rows for key in (*MARKS, *_OLD_MARKS))
        for key, row in rows.items():
            owner = _owner(key)
            if owner is None:
                continue
            self._there[owner] = there = _read(row[0], {})
            for setting in _settings(*owner):
                if is_marked:
                    self._left_out.add(setting)
                else:
                    self._takes(setting, values_in(setting[2], there.get(setting[2])))

    def moved(self, server: RecordingServer) -> None:
        """The cluster continues in `server`, to which everything was copied."""
        owners = {key: _owner(key) for key in server.table.rows}
        self._there = {o: _read(server.table.rows[key][0], {}) for key, o in owners.items() if o is not None}

    # --- requests

    def waits_for(self, partitions: Iterable[TopicPartition], answer: Future[Any]) -> None:
        """A request about these partitions was sent."""
        self._waiting.append((frozenset(partitions), answer))

    def is_waited_for(self, tp: TopicPartition) -> bool:
        """Whether a request about the partition is not answered: it counts for the topic that has the name then."""
        self._waiting = [each for each in self._waiting if not each[1].done()]
        return any(tp in partitions for partitions, _ in self._waiting)

    def asked(self, kind: MarkKind, name: str, change: AlterConfigOp, answer: Future[Any]) -> None:
        setting = (kind, name, change.name)
        self._asked.append(Asked(setting, change, answer, self._epoch))
        self._ever.setdefault(setting, set()).update(values_in(change.name, change.value))

    def leave_out(self, kind: MarkKind, name: str, configs: Iterable[str] | None = None) -> None:
        """Exclude these configs (None: all throttles) from now on: their owner is unknown, or they are to stay."""
        self._left_out.update((kind, name, config) for config in (CONFIGS[kind] if configs is None else configs))

    def replacing(self, answer: Future[Any]) -> None:
        """A request may replace throttles, or make them permanent, while something moves."""
        self._replacing.append((answer, self._epoch))

    @property
    def may_replace(self) -> bool:
        """Whether such a request may be in progress."""
        return bool(self._replacing)

    # --- commits

    def follow(self, commit: Committed) -> None:
        for op in commit.ops:
            owner = _owner(op.key)
            if owner is None or isinstance(op, Check):
                continue
            before = self._there.get(owner, {})
            self._there[owner] = after = _read(op.value, before) if isinstance(op, Put) else {}
            if isinstance(op, Delete) and commit.sender != FOREIGN and owner[0] == "topics":
                self.forget(*owner)
                continue
            for setting in _settings(*owner):
                value = after.get(setting[2])
                if commit.sender != FOREIGN:
                    self._shows(setting, value)
                elif value != before.get(setting[2]):
                    self._takes(setting, values_in(setting[2], value))

    def forget(self, kind: MarkKind, name: str) -> None:
        """It is deleted, and its requests are done or will never be: the next one of its name has none of this."""
        for setting in _settings(kind, name):
            self._possible[setting] = frozenset(((), did) for _, did in self._after(setting, is_done=True))
            self._left_out.discard(setting)

    def settle(self, epoch: int) -> list[str]:
        """All commits so far were taken in, and the present term is that of `epoch`: drop requests that are answered,
        or can no longer be done. Returns the violations."""
        found, self._epoch = [], epoch
        for one in [one for one in self._asked if _is_over(one.answer, one.epoch, epoch)]:
            possible = self._after(one.setting, is_done=False)
            done = frozenset(world for world in possible if one in world[1])
            is_good = _is_good(one.answer)
            if is_good and not done and one.setting not in self._left_out:
                found.append(f"{one.setting}: {one.change} was answered but is not done")
            left = done if is_good and done else possible
            self._possible[one.setting] = frozenset((values, did - {one}) for values, did in left)
            self._asked.remove(one)
        self._replacing = [one for one in self._replacing if not _is_over(*one, epoch)]
        return found

    def wrong(self, topics: Iterable[str], brokers: Iterable[int]) -> list[str]:
        """Throttles that are not an operator's, and operators' throttles that are missing."""
        owners: list[tuple[MarkKind, str]] = [("topics", name) for name in topics]
        owners += [("brokers", str(broker)) for broker in brokers]
        return [
            f"{kind} {name}: {config} is {value}, an operator's {sorted(values for values, _ in possible)}"
            for owner in owners
            for kind, name, config in _settings(*owner)
            for value in [self._there.get(owner, {}).get(config)]
            for possible in [self._possible.get((kind, name, config), _NOTHING)]
            if (kind, name, config) not in self._left_out
            and values_in(config, value) not in {values for values, _ in possible}
        ]

    def _takes(self, setting: _Setting, values: Values) -> None:
        """An operator has these values from now on, whichever of the requests are done."""
        self._possible[setting] = frozenset((values, did) for _, did in self._after(setting, is_done=False))
        self._ever.setdefault(setting, set()).update(values)

    def _shows(self, setting: _Setting, value: str | None) -> None:
        """A controller commits `value`, and may have done what was requested."""
        self._possible[setting] = possible = self._after(setting, is_done=True)
        config, ever = setting[2], self._ever.get(setting, set())
        shown = tuple(one for one in values_in(config, value) if one in ever)
        if is_list(config) or value is None or shown:
            self._possible[setting] = frozenset(world for world in possible if world[0] == shown) or possible

    def _after(self, setting: _Setting, *, is_done: bool) -> _Possible:
        """The possible values after some of the requests; or (not `is_done`) only after those that change nothing."""
        known = set(self._possible.get(setting, _NOTHING))
        asked = [one for one in self._asked if one.setting == setting]
        fresh = set(known)
        while fresh:
            after = [
                (values, one.after(values), did | {one}) for values, did in fresh for one in asked if one not in did
            ]
            fresh = {(then, did) for values, then, did in after if is_done or then == values} - known
            known |= fresh
        return frozenset(known)


def _is_good(answer: Future[Any]) -> bool:
    return answer.done() and not answer.cancelled() and answer.exception() is None


def _is_over(answer: Future[Any], asked: int, epoch: int) -> bool:
    return epoch > asked or _is_good(answer)


def _settings(kind: MarkKind, name: str) -> list[_Setting]:
    return [(kind, name, config) for config in CONFIGS[kind]]


def _owner(key: str) -> tuple[MarkKind, str] | None:
    for kind, parent in _PARENTS.items():
        name = key.removeprefix(parent + "/")
        if name != key and "/" not in name and key != keys.BROKER_DEFAULTS:
            return kind, name
    return None


def _read(value: bytes, known: Mapping[str, str]) -> Mapping[str, str]:
    """The settings in `value`; where they cannot be read, those known before."""
    try:
        return small.decode_config(value)
    except BadValue:
        return known
