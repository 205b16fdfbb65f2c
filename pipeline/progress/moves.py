"""Reassignments from the rows of a journal: from the TargetSet, or the Takeover that finds it running, to the
TargetCleared.

A reassignment continues over terms. One that a Takeover does not list any more has ended in missing lines. The rows of
a topic and the takeovers suffice for the reassignments of that topic, and only EVENTS change one. Rows without a topic
suffice for `World`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

import attrs

from ...controller.model import numerals
from ..journal.lines import Event
from .values import Move, Told, World

EVENTS: Final = frozenset(
    {
        "Takeover",
        "TargetSet",
        "TargetReplaced",
        "ReplicasGrown",
        "ReplicasChanged",
        "TargetCleared",
        "IsrChanged",
        "IsrShrunk",
        "LeaderElected",
        "ForeignChange",
        "TopicDeleted",
    }
)
NOT_TOLD: Final = "not told"
"""How a reassignment ended whose end is missing in the journal."""

_RATE: Final = "throttled.rate"
_CONFIGS: Final = frozenset({"ThrottleSet", "ThrottleRemoved", "ThrottleRestored", "ConfigChanged"})

Key = tuple[str, int]


@attrs.define
class _Running:
    controller_epoch: int
    started_ms: int
    last_ms: int
    origin: tuple[int, ...] | None
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    target: tuple[int, ...]
    leader: int
    isr_losses: int = 0
    leads: list[tuple[int, int]] = attrs.field(factory=list)

    def take(self, row: Mapping[str, Any], ts: int) -> None:
        isr, replicas = tuple(row.get("isr", self.isr)), tuple(row["replicas"])
        target = tuple(row["target"]) if "target" in row else self.target
        if len(set(target) & set(isr)) > len(set(target) & set(self.isr)) or replicas != self.replicas:
            self.last_ms = ts
        if set(self.isr) - set(isr) and "target" in row:
            self.isr_losses += 1
        self.isr, self.replicas, self.target = isr, replicas, target
        self.lead(row.get("leader", self.leader), ts)

    def lead(self, leader: int, ts: int) -> None:
        if not self.leads or self.leads[-1][1] != leader:
            self.leads.append((ts, leader))
        self.leader = leader

    def told(self, key: Key, ended_ms: int | None, ended: str | None, bytes_copied: int | None) -> Told:
        before = set(self.origin if self.origin is not None else self.replicas)
        adding = tuple(b for b in self.target if b not in before)
        waiting_on = tuple(b for b in self.target if b not in self.isr)
        move = Move(
            *key,
            self.controller_epoch,
            self.started_ms,
            self.last_ms,
            ended_ms,
            ended,
            self.origin,
            self.replicas,
            self.isr,
            self.target,
            self.leader,
            adding,
            waiting_on,
            len(set(adding) & set(self.isr)),
            self.isr_losses,
            bytes_copied,
        )
        return Told(move, tuple(self.leads))


class MovesOf:
    """The reassignments of a group of topics, event by event. `holds`: whether a topic belongs to the group, since a
    Takeover lists those of all topics."""

    def __init__(self, holds: Callable[[str], bool] = lambda topic: True) -> None:  # noqa: ARG005 - of all topics
        self._holds = holds
        self._running: dict[Key, _Running] = {}

    def feed(self, event: Event) -> Iterator[Told]:
        """The reassignments that end with this event."""
        row = event.row
        if row is None or row["event"] not in EVENTS:
            return
        if row["event"] == "Takeover":
            yield from self._take_over(row)
        elif row["event"] == "TopicDeleted":
            for key in [key for key in self._running if key[0] == row.get("topic")]:
                yield self._running.pop(key).told(key, row["ts"], "topic deleted", None)
        elif "replicas" in row and "topic" in row and "partition" in row:
            yield from self._partition(row)

    def _take_over(self, row: Mapping[str, Any]) -> Iterator[Told]:
        moves = _detail(row).get("moves")
        said = [move for move in moves if _is_move(move)] if isinstance(moves, list) else []
        listed = {_key(move): move for move in said if self._holds(move["topic"])}
        for key in [key for key in self._running if key not in listed]:
            yield self._running.pop(key).told(key, row["ts"], NOT_TOLD, None)
        for key, move in listed.items():
            held = self._running.get(key)
            if held is None:
                started = move.get("started_ms")
                self._running[key] = _running(move, row["epoch"], started if type(started) is int else row["ts"])
            else:
                held.take(move, row["ts"])

    def _partition(self, row: Mapping[str, Any]) -> Iterator[Told]:
        key, ts = _key(row), row["ts"]
        held = self._running.get(key)
        if held is not None:
            held.take(row, ts)
        if "target" in row:
            if held is None:
                self._running[key] = _running(row, row["epoch"], ts)
        elif held is not None:
            copied = _detail(row).get("bytes_copied")
            ended = str(row.get("cause", row["event"]))
            yield self._running.pop(key).told(key, ts, ended, copied if type(copied) is int else None)

    def end(self) -> Iterator[Told]:
        """The reassignments that run at the end of the journal."""
        for key, held in self._running.items():
            yield held.told(key, None, None, None)


def _running(row: Mapping[str, Any], epoch: int, started_ms: int) -> _Running:
    origin = row.get("origin")
    isr, leader = tuple(row.get("isr", ())), row.get("leader", -1)
    made = _Running(
        epoch,
        started_ms,
        started_ms,
        None if origin is None else tuple(origin),
        tuple(row["replicas"]),
        isr,
        tuple(row["target"]),
        leader,
    )
    made.lead(leader, started_ms)
    return made


def _is_move(move: Any) -> bool:
    return (
        isinstance(move, Mapping)
        and isinstance(move.get("topic"), str)
        and type(move.get("partition")) is int
        and all(_is_ids(move.get(name, [])) for name in ("replicas", "isr", "target", "origin"))
        and "replicas" in move
        and "target" in move
        and type(move.get("leader", -1)) is int
    )


def _is_ids(value: Any) -> bool:
    return isinstance(value, list) and all(type(one) is int for one in value)


def _key(row: Mapping[str, Any]) -> Key:
    return row["topic"], row["partition"]


def _detail(row: Mapping[str, Any]) -> Mapping[str, Any]:
    detail = row.get("detail")
    return detail if isinstance(detail, Mapping) else {}


def moves_of(events: Iterable[Event], holds: Callable[[str], bool] = lambda topic: True) -> list[Told]:  # noqa: ARG005
    """The reassignments in these events, of topics in the group."""
    moves = MovesOf(holds)
    return [*(told for event in events for told in moves.feed(event)), *moves.end()]


class WorldOf:
    """Brokers, throttles and terms in a journal, event by event. A rate counts whichever writer set it. Of a row with a
    topic only the time counts."""

    def __init__(self) -> None:
        self._left: set[int] = set()
        self._rates_bps: dict[int, dict[str, float]] = {}
        self._is_led = False
        self._last_ts_ms = 0
        self.rows = 0

    def passed(self, rows: int, last_ts_ms: int) -> None:
        """Count rows of topics, up to this time."""
        self.rows += rows
        self._last_ts_ms = max(self._last_ts_ms, last_ts_ms)

    def feed(self, event: Event) -> None:
        row = event.row
        if row is None:
            return
        self.passed(1, row["ts"])
        if "topic" in row:
            return
        name, broker = row["event"], row.get("broker")
        self._is_led = name != "Resigned" if name in ("Takeover", "Resigned") else self._is_led
        if name in _CONFIGS:
            self._set(_detail(row), is_whole=name == "ConfigChanged")
        elif broker is not None and name == "BrokerLeft":
            self._left.add(broker)
        elif broker is not None and name == "BrokerRegistered":
            self._left.discard(broker)

    def _set(self, detail: Mapping[str, Any], *, is_whole: bool) -> None:
        """The configs of a broker: all of them, or those that changed, which `was` names, too."""
        kind, _, name = str(detail.get("entity", "")).partition("/")
        broker = numerals.whole(name) if kind == "brokers" else None
        if broker is None:
            return
        configs, was = ({} if not isinstance(said := detail.get(n), Mapping) else said for n in ("configs", "was"))
        held = {} if is_whole else self._rates_bps.get(broker, {})
        left = {name: rate for name, rate in held.items() if name not in was}
        made = {name: _rate(value) for name, value in configs.items() if name.endswith(_RATE)}
        self._rates_bps[broker] = {**left, **{name: rate for name, rate in made.items() if rate is not None}}

    def world(self) -> World:
        """The state at the end."""
        rates = sorted((broker, min(held.values())) for broker, held in self._rates_bps.items() if held)
        return World(tuple(sorted(self._left)), tuple(rates), self._is_led, self._last_ts_ms)


def _rate(value: Any) -> float | None:
    return numerals.decimal(value) if isinstance(value, str) else None
