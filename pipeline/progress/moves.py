"""Reassignments from the rows of a journal: from the TargetSet, or the Takeover that finds it running, to the
TargetCleared.

A reassignment continues over terms. One that a Takeover does not list any more has ended in missing lines. Only EVENTS
change one. Rows without a topic suffice for `World`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from ...controller.model import numerals
from ..journal.lines import Event, detail_of
from .values import Move, Told, World

EVENTS: Final = frozenset({"Takeover", "TargetSet", "TargetReplaced", "TargetCleared", "ReplicasGrown",
                           "ReplicasChanged", "IsrChanged", "IsrShrunk", "LeaderElected", "ForeignChange",
                           "TopicDeleted"})  # fmt: skip
NOT_TOLD: Final = "not told"
"""How a reassignment ended whose end is missing in the journal."""

_RATE: Final = "throttled.rate"
_CONFIGS: Final = frozenset({"ThrottleSet", "ThrottleRemoved", "ThrottleRestored", "ConfigChanged"})

Key = tuple[str, int]


class _Running:
    """A reassignment that runs, and the leaders of its partition so far."""

    def __init__(self, row: Mapping[str, Any], epoch: int, started_ms: int) -> None:
        leader, origin = row.get("leader", -1), None if row.get("origin") is None else tuple(row["origin"])
        begun = Move(*_key(row), epoch, started_ms, started_ms, None, None, origin, (), (), (), leader)
        self.move = _with_lists(begun, row)
        self.leads = [(started_ms, leader)]

    def take(self, row: Mapping[str, Any], ts: int) -> None:
        was = self.move
        now = _with_lists(was, row)._replace(leader=row.get("leader", was.leader))
        if len(set(now.target) & set(now.isr)) > len(set(now.target) & set(was.isr)) or now.replicas != was.replicas:
            now = now._replace(last_ms=ts)
        if set(was.isr) - set(now.isr) and "target" in row:
            now = now._replace(isr_losses=was.isr_losses + 1)
        if now.leader != was.leader:
            self.leads.append((ts, now.leader))
        self.move = now

    def told(self, ended_ms: int | None, ended: str | None, bytes_copied: int | None) -> Told:
        move = self.move
        before = move.replicas if move.origin is None else move.origin
        adding = tuple(b for b in move.target if b not in before)
        waiting_on = tuple(b for b in move.target if b not in move.isr)
        found = move._replace(adding=adding, waiting_on=waiting_on, joined=len(set(adding) & set(move.isr)))
        return Told(found._replace(ended_ms=ended_ms, ended=ended, bytes_copied=bytes_copied), tuple(self.leads))


class MovesOf:
    """The reassignments, event by event."""

    def __init__(self) -> None:
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
                yield self._running.pop(key).told(row["ts"], "topic deleted", None)
        elif "replicas" in row and "topic" in row and "partition" in row:
            yield from self._partition(row)

    def _take_over(self, row: Mapping[str, Any]) -> Iterator[Told]:
        moves = detail_of(row).get("moves")
        said = [move for move in moves if _is_move(move)] if isinstance(moves, list) else []
        listed = {_key(move): move for move in said}
        for key in [key for key in self._running if key not in listed]:
            yield self._running.pop(key).told(row["ts"], NOT_TOLD, None)
        for key, move in listed.items():
            held = self._running.get(key)
            if held is None:
                started = move.get("started_ms")
                self._running[key] = _Running(move, row["epoch"], started if type(started) is int else row["ts"])
            else:
                held.take(move, row["ts"])

    def _partition(self, row: Mapping[str, Any]) -> Iterator[Told]:
        key, ts = _key(row), row["ts"]
        held = self._running.get(key)
        if held is not None:
            held.take(row, ts)
        if "target" in row:
            if held is None:
                self._running[key] = _Running(row, row["epoch"], ts)
        elif held is not None:
            copied = detail_of(row).get("bytes_copied")
            ended = str(row.get("cause", row["event"]))
            yield self._running.pop(key).told(ts, ended, copied if type(copied) is int else None)

    def end(self) -> Iterator[Told]:
        """The reassignments that run at the end of the journal."""
        for held in self._running.values():
            yield held.told(None, None, None)


def _with_lists(move: Move, row: Mapping[str, Any]) -> Move:
    """The move with the lists that a row has."""
    replicas, isr, target = row["replicas"], row.get("isr", move.isr), row.get("target", move.target)
    return move._replace(replicas=tuple(replicas), isr=tuple(isr), target=tuple(target))


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


class WorldOf:
    """Brokers, throttles and terms in a journal, event by event. A rate counts whichever writer set it. Of a row with a
    topic only the time counts."""

    def __init__(self) -> None:
        self._left: set[int] = set()
        self._rates_bps: dict[int, dict[str, float]] = {}
        self._is_led = False
        self._last_ts_ms = 0
        self.rows = 0

    def feed(self, event: Event) -> None:
        row = event.row
        if row is None:
            return
        self.rows += 1
        self._last_ts_ms = max(self._last_ts_ms, row["ts"])
        if "topic" in row:
            return
        name, broker = row["event"], row.get("broker")
        self._is_led = name != "Resigned" if name in ("Takeover", "Resigned") else self._is_led
        if name in _CONFIGS:
            self._set(detail_of(row), is_whole=name == "ConfigChanged")
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
