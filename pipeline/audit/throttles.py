"""Throttles: each that is to be removed is removed once nothing is reassigning, whoever crashed and when (KIP-179).

* A throttle is of a topic (lists of replicas) or of a broker (rates), which the `entity` of a row's detail names.
  ThrottleSet puts its mark, unless its cause says that it is to stay; ThrottleRemoved and ThrottleRestored take it
  away. What an operator sets over it (ConfigChanged) is his, and a topic that is deleted has none.
* Something is reassigning while a partition has a target or the legacy key is there. A removal takes commits, and a new
  move puts it off: so a throttle is a violation when it has stood for `GRACE_MS` of one term with nothing reassigning.
  That is looked at with each row that is fed here, and where a term or what can be read ends.
  Time in which nobody led does not count. The first offending event is the ThrottleSet.
* Of what only a Takeover lists in `throttles`, nobody knows whether it was given back already: it is a violation when
  that term could have removed it, and the next Takeover lists it again.
* A removal while something is reassigning is one, too. What may still be removed at the end of a journal is a gap.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

import attrs

from controller.codec.keys import REASSIGN_PARTITIONS
from controller.model.throttles import CONFIGS, KINDS
from controller.rules.throttling.keeping import values_in
from controller.rules.throttling.marks import REMOVAL, STAYS
from pipeline.audit.edges import Lost
from pipeline.audit.values import Gap, Violation
from pipeline.journal.lines import Event

GRACE_MS: Final = 60_000

_PLACE: Final = ("epoch", "seq", "row", "event", "ts")
"""What of the row of a mark is told."""

_BACK: Final = frozenset({"ThrottleRemoved", "ThrottleRestored"})
_PARTITIONS: Final = frozenset({"TargetSet", "TargetCleared", "ForeignChange"})

EVENTS: Final = _BACK | _PARTITIONS | {"Takeover", "Resigned", "Gap", "TopicDeleted", "LegacySubmitted",
                                       "LegacyKeyRemoved", "ThrottleSet", "ConfigChanged", "BadKey"}  # fmt: skip
"""Events that say something of throttles, or of what is reassigning."""


@attrs.define
class _Mark:
    """`at`: the number of its event here. `ours`: per config the values that are a throttle's; None: not known.
    `is_overdue`: its term could have removed it."""

    event: Event
    at: int
    ours: Mapping[str, frozenset[str]] | None = None
    is_overdue: bool = False


class _Idle(NamedTuple):
    """Since which event nothing is reassigning."""

    at: int
    since_ms: int


class Throttles:
    """All terms, event by event; only EVENTS need be given, in the order of the journal."""

    def __init__(self, grace_ms: int = GRACE_MS) -> None:
        self._grace_ms = grace_ms
        self._moving: set[tuple[str, int]] = set()
        self._is_legacy = False
        self._is_known = False  # what is reassigning
        self._marks: dict[str, _Mark] = {}
        self._idle: _Idle | None = None
        self._epoch = -1
        self._at = 0

    def feed(self, event: Event) -> Iterator[Violation]:
        row = event.row
        if row is None or row["epoch"] < self._epoch:
            return
        self._epoch = row["epoch"]
        self._at += 1
        name, was_moving = row["event"], self._is_moving
        if name == "Takeover":
            yield from self._take_over(event, row)
        else:
            yield from self.until(row["ts"])
            if name in _BACK:
                yield from self._give_back(event, row)
            self._take(event, row)
        self._rest(name, row["ts"], was_moving=was_moving)

    def end(self, last_ts_ms: int) -> Iterator[Violation | Gap]:
        """What stood for too long when the last row was written, and what stands then and may still be removed."""
        yield from self.until(last_ts_ms)
        for subject, mark in self._marks.items():
            why = "something is reassigning" if self._is_moving else "nothing is reassigning, for less than the grace"
            why = why if self._is_known and not mark.is_overdue else "nobody can say whether it was given back"
            row = _row(mark.event)
            yield Gap("open throttle", mark.event.file, mark.event.line, row["epoch"], f"of {_words(subject)}: {why}")

    def until(self, now_ms: int) -> Iterator[Violation]:
        """What stood for too long by then: by the last row of a term, which is over, or of what can be read."""
        idle = self._idle
        if idle is None or now_ms - idle.since_ms < self._grace_ms:
            return
        for subject, mark in list(self._marks.items()):
            if mark.at > idle.at:
                continue  # set while nothing moved: it stays until the next move has ended
            if mark.ours is None:
                mark.is_overdue = True
            else:
                del self._marks[subject]
                yield self._left(mark, subject)

    def lost(self, place: Lost) -> Iterator[Violation]:
        """Rows are missing: what was to be removed may have been, and what moves is not known before a Takeover."""
        yield from self.until(place.reached_ms)
        self._lose()

    def _lose(self) -> None:
        self._marks.clear()
        self._unknown()

    def kept(self) -> Any:
        """What `resume` goes on with, as plain values."""
        marks = [
            (subject, mark.event[:2], [_row(mark.event)[name] for name in _PLACE], mark.at, mark.is_overdue,
             None if mark.ours is None else {config: sorted(values) for config, values in mark.ours.items()})
            for subject, mark in self._marks.items()
        ]  # fmt: skip
        return sorted(self._moving), self._is_legacy, self._is_known, self._idle, self._epoch, self._at, marks

    def resume(self, kept: Any) -> None:
        moving, self._is_legacy, self._is_known, idle, self._epoch, self._at, marks = kept
        self._moving, self._idle = {(topic, n) for topic, n in moving}, None if idle is None else _Idle(*idle)
        for subject, (file, line), place, at, is_overdue, ours in marks:
            event = Event(file, line, "", dict(zip(_PLACE, place, strict=True)))
            known = None if ours is None else {config: frozenset(values) for config, values in ours.items()}
            self._marks[subject] = _Mark(event, at, known, is_overdue)

    @property
    def _is_moving(self) -> bool:
        return bool(self._moving) or self._is_legacy

    def _unknown(self) -> None:
        self._is_known, self._idle = False, None

    def _rest(self, name: str, ts: int, *, was_moving: bool) -> None:
        if self._is_moving or not self._is_known or name == "Resigned":
            self._idle = None
        elif was_moving or name == "Takeover":
            self._idle = _Idle(self._at, ts)

    # --- what rows say

    def _take(self, event: Event, row: Mapping[str, Any]) -> None:
        name, detail = row["event"], _detail(row)
        if name == "ThrottleSet":
            self._set(event, row)
        elif name == "ConfigChanged":
            self._change(row)
        elif name == "Gap":
            first = detail.get("first")
            if not isinstance(first, Mapping) or first.get("controller_epoch") == row["epoch"]:
                self._lose()
        elif name == "BadKey" or (name == "ForeignChange" and detail.get("key") == REASSIGN_PARTITIONS):
            self._unknown()  # moves may be forgotten with what cannot be read
        elif name in ("LegacySubmitted", "LegacyKeyRemoved"):
            self._is_legacy = name == "LegacySubmitted"
        elif name == "TopicDeleted":
            self._moving = {key for key in self._moving if key[0] != row.get("topic")}
            self._marks.pop(f"topics/{row.get('topic')}", None)
        elif name in _PARTITIONS:
            self._move(row)

    def _move(self, row: Mapping[str, Any]) -> None:
        self._moving |= _moves(_detail(row))  # a topic that is found
        if "replicas" in row and "topic" in row and "partition" in row:
            key = row["topic"], row["partition"]
            self._moving.add(key) if row.get("target") is not None else self._moving.discard(key)

    def _set(self, event: Event, row: Mapping[str, Any]) -> None:
        subject = subject_of(row)
        if subject is None:
            return
        held = self._marks.pop(subject, None) or _Mark(event, self._at)
        if row.get("cause") == STAYS:
            return
        ours = dict(held.ours or {})
        was = _configs(row, "was")
        for config, value in _configs(row, "configs").items():
            there, before = frozenset(values_in(config, value)), values_in(config, was.get(config))
            ours[config] = (ours.get(config, frozenset()) & there) | there.difference(before)
        if any(ours.values()):
            self._marks[subject] = attrs.evolve(held, ours=ours, event=event if held.ours is None else held.event)

    def _change(self, row: Mapping[str, Any]) -> None:
        """All configs of an owner, as somebody else made them: of ours stays what is still there."""
        subject = subject_of(row)
        mark = self._marks.get(subject or "")
        if subject is None or mark is None or mark.ours is None:
            return
        configs = _configs(row, "configs")
        mark.ours = {name: held.intersection(values_in(name, configs.get(name))) for name, held in mark.ours.items()}
        if not any(mark.ours.values()):
            del self._marks[subject]

    def _give_back(self, event: Event, row: Mapping[str, Any]) -> Iterator[Violation]:
        subject = subject_of(row)
        if subject is None:
            return
        self._marks.pop(subject, None)
        if row.get("cause") == REMOVAL and self._is_known and self._is_moving:
            got = [f"{topic}-{partition}" for topic, partition in sorted(self._moving)[:20]]
            expected = "nothing that is reassigning when throttles are removed"
            yield _violation(event, subject, expected, f"{', '.join(got) or 'the legacy key'} is")

    def _take_over(self, event: Event, row: Mapping[str, Any]) -> Iterator[Violation]:
        detail = _detail(row)
        self._moving, self._is_legacy, self._is_known = _moves(detail), "legacy_entries" in detail, True
        listed = _listed(detail.get("throttles"))
        for subject, mark in list(self._marks.items()):
            if mark.ours is not None:
                continue
            del self._marks[subject]
            if subject in listed and mark.is_overdue:
                listed.remove(subject)
                yield self._left(mark, subject)
        for subject in listed:
            self._marks.setdefault(subject, _Mark(event, self._at))

    def _left(self, mark: _Mark, subject: str) -> Violation:
        expected = f"the throttle of {_words(subject)} to be removed once nothing is reassigning"
        return _violation(mark.event, subject, expected, f"it stands {self._grace_ms} ms later")


def subject_of(row: Mapping[str, Any]) -> str | None:
    """Whose configs a row is about: "topics/orders", "brokers/1"."""
    entity = _detail(row).get("entity", f"topics/{row['topic']}" if "topic" in row else None)
    return entity if isinstance(entity, str) else None


def _listed(throttles: object) -> list[str]:
    said = throttles if isinstance(throttles, Mapping) else {}
    owners = {kind: said.get(kind) for kind in KINDS}
    return [f"{kind}/{owner}" for kind, named in owners.items() if isinstance(named, list) for owner in named]


def _moves(detail: Mapping[str, Any]) -> set[tuple[str, int]]:
    moves = detail.get("moves")
    return {
        (move["topic"], move["partition"])
        for move in (moves if isinstance(moves, list) else ())
        if isinstance(move, Mapping) and isinstance(move.get("topic"), str) and type(move.get("partition")) is int
    }


def _configs(row: Mapping[str, Any], name: str) -> dict[str, str]:
    """What of configs is a throttle."""
    configs = _detail(row).get(name)
    known = {config for names in CONFIGS.values() for config in names}
    said = configs if isinstance(configs, Mapping) else {}
    return {config: value for config, value in said.items() if config in known and isinstance(value, str)}


def _detail(row: Mapping[str, Any]) -> Mapping[str, Any]:
    detail = row.get("detail")
    return detail if isinstance(detail, Mapping) else {}


def _row(event: Event) -> Mapping[str, Any]:
    assert event.row is not None
    return event.row


def _words(subject: str) -> str:
    kind, _, name = subject.partition("/")
    return f"{kind.removesuffix('s')} {name}"


def _violation(event: Event, subject: str, expected: str, got: str) -> Violation:
    row = _row(event)
    kind, _, name = subject.partition("/")
    at = (event.file, event.line, row["epoch"], row["seq"], row["row"], row["event"], row["ts"])
    topic = name if kind == "topics" else None
    broker = int(name) if kind == "brokers" and name.isascii() and name.isdecimal() and len(name) < 10 else None
    return Violation("throttle", *at, topic, None, broker, expected, got)
