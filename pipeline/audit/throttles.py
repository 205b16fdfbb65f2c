"""Throttles: each one marked for removal is removed once no reassignment runs, through any crash (KIP-179).

* A throttle belongs to a topic (lists of replicas) or to a broker (rates), named by the `entity` of a row's detail.
  ThrottleSet marks it for removal, unless its cause says that it stays. ThrottleRemoved and ThrottleRestored clear the
  mark. A value that an operator sets over it (ConfigChanged) is the operator's, and a deleted topic has none.
* A reassignment runs while a partition has a target or the legacy key exists. A removal takes several commits, and a
  new reassignment delays it. So a throttle is a violation if it remains for `GRACE_MS` of one term without a
  reassignment. This is checked with each row that is fed here, and at the end of a term or of the readable rows. Time
  without a leading controller does not count. The first offending event is the ThrottleSet.
* A throttle known only from `throttles` of a Takeover may have been removed already. It is a violation if that term
  could have removed it, and the next Takeover lists it again.
* A removal during a reassignment is a violation, too. What may still be removed at the end of a journal is a gap.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

import attrs

from ...controller.codec.keys import REASSIGN_PARTITIONS
from ...controller.model import numerals
from ...controller.model.throttles import CONFIGS, KINDS
from ...controller.rules.throttling.keeping import values_in
from ...controller.rules.throttling.marks import REMOVAL, STAYS
from ..journal.lines import Event, detail_of
from .edges import Lost
from .values import Gap, Violation

GRACE_MS: Final = 60_000

_PLACE: Final = ("epoch", "seq", "row", "event", "ts")
"""The fields of a mark's row that are reported, and kept: a detail may be large."""

_BACK: Final = frozenset({"ThrottleRemoved", "ThrottleRestored"})
_PARTITIONS: Final = frozenset({"TargetSet", "TargetCleared", "ForeignChange"})

EVENTS: Final = _BACK | _PARTITIONS | {"Takeover", "Resigned", "Gap", "TopicDeleted", "LegacySubmitted",
                                       "LegacyKeyRemoved", "ThrottleSet", "ConfigChanged", "BadKey"}  # fmt: skip
"""Events about throttles or running reassignments."""


@attrs.define
class _Mark:
    """`at`: the number of its event here. `ours`: the values that the throttle set, by config; None: unknown.
    `is_overdue`: its term could have removed it."""

    event: Event
    at: int
    ours: Mapping[str, frozenset[str]] | None = None
    is_overdue: bool = False


class _Idle(NamedTuple):
    """The event since which no reassignment runs."""

    at: int
    since_ms: int


class Throttles:
    """Follows all terms, event by event, in the order of the journal; only EVENTS need to be fed."""

    def __init__(self, grace_ms: int = GRACE_MS) -> None:
        self._grace_ms = grace_ms
        self._moving: set[tuple[str, int]] = set()
        self._is_legacy = False
        self._is_known = False  # whether `_moving` is complete
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
        """Throttles that remained too long when the last row was written, and those that may still be removed."""
        yield from self.until(last_ts_ms)
        for subject, mark in self._marks.items():
            why = "a reassignment runs" if self._is_moving else "no reassignment has run for less than the grace period"
            why = why if self._is_known and not mark.is_overdue else "the journal does not show whether it was removed"
            row = _row(mark.event)
            yield Gap("open throttle", mark.event.file, mark.event.line, row["epoch"], f"of {_words(subject)}: {why}")

    def until(self, now_ms: int) -> Iterator[Violation]:
        """Throttles that remained too long by then: by the last row of a term that has ended, or of the readable
        rows."""
        idle = self._idle
        if idle is None or now_ms - idle.since_ms < self._grace_ms:
            return
        for subject, mark in list(self._marks.items()):
            if mark.at > idle.at:
                continue  # set without a reassignment: it stays until the next one has ended
            if mark.ours is None:
                mark.is_overdue = True
            else:
                del self._marks[subject]
                yield self._left(mark, subject)

    def lost(self, place: Lost) -> Iterator[Violation]:
        """Rows are missing: throttles may have been removed, and running reassignments are unknown until a Takeover."""
        yield from self.until(place.reached_ms)
        self._lose()

    def _lose(self) -> None:
        self._marks.clear()
        self._unknown()

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
        name, detail = row["event"], detail_of(row)
        if name == "ThrottleSet":
            self._set(event, row)
        elif name == "ConfigChanged":
            self._change(row)
        elif name == "Gap":
            first = detail.get("first")
            if not isinstance(first, Mapping) or first.get("controller_epoch") == row["epoch"]:
                self._lose()
        elif name == "BadKey" or (name == "ForeignChange" and detail.get("key") == REASSIGN_PARTITIONS):
            self._unknown()  # the unreadable value may have held reassignments
        elif name in ("LegacySubmitted", "LegacyKeyRemoved"):
            self._is_legacy = name == "LegacySubmitted"
        elif name == "TopicDeleted":
            self._moving = {key for key in self._moving if key[0] != row.get("topic")}
            self._marks.pop(f"topics/{row.get('topic')}", None)
        elif name in _PARTITIONS:
            self._move(row)

    def _move(self, row: Mapping[str, Any]) -> None:
        self._moving |= _moves(detail_of(row))  # of a topic that was found
        if "replicas" in row and "topic" in row and "partition" in row:
            key = row["topic"], row["partition"]
            self._moving.add(key) if row.get("target") is not None else self._moving.discard(key)

    def _set(self, event: Event, row: Mapping[str, Any]) -> None:
        subject = subject_of(row)
        if subject is None:
            return
        held = self._marks.pop(subject, None) or _Mark(_placed(event), self._at)
        if row.get("cause") == STAYS:
            return
        ours = dict(held.ours or {})
        was = _configs(row, "was")
        for config, value in _configs(row, "configs").items():
            there, before = frozenset(values_in(config, value)), values_in(config, was.get(config))
            ours[config] = (ours.get(config, frozenset()) & there) | there.difference(before)
        if any(ours.values()):
            self._marks[subject] = attrs.evolve(
                held, ours=ours, event=_placed(event) if held.ours is None else held.event
            )

    def _change(self, row: Mapping[str, Any]) -> None:
        """All configs of an owner, as another writer set them: of the throttle's values keep those still there."""
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
            expected = "no running reassignment when throttles are removed"
            yield _violation(event, subject, expected, f"{', '.join(got) or 'the legacy key'}")

    def _take_over(self, event: Event, row: Mapping[str, Any]) -> Iterator[Violation]:
        detail = detail_of(row)
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
            self._marks.setdefault(subject, _Mark(_placed(event), self._at))

    def _left(self, mark: _Mark, subject: str) -> Violation:
        expected = f"the throttle of {_words(subject)} to be removed once no reassignment runs"
        return _violation(mark.event, subject, expected, f"it is still there {self._grace_ms} ms later")


def subject_of(row: Mapping[str, Any]) -> str | None:
    """The owner of a row's configs: "topics/orders", "brokers/1"."""
    entity = detail_of(row).get("entity", f"topics/{row['topic']}" if "topic" in row else None)
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
    """The configs that are throttles."""
    configs = detail_of(row).get(name)
    known = {config for names in CONFIGS.values() for config in names}
    said = configs if isinstance(configs, Mapping) else {}
    return {config: value for config, value in said.items() if config in known and isinstance(value, str)}


def _placed(event: Event) -> Event:
    row = _row(event)
    return Event(event.file, event.line, "", {name: row[name] for name in _PLACE})


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
    broker = numerals.whole(name, 0, numerals.INT_MAX) if kind == "brokers" else None
    return Violation("throttle", *at, topic, None, broker, expected, got)
