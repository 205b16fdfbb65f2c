"""What the status page shows, as JSON: what moves and waits on whom, load per broker, throttles, the newest rows.

Rules
* It is asked once a second by each page that is open, and made at most so often that it takes a twentieth of the
  controller's time: between, everybody gets what was made last.
* Numbers are those of one moment of the committed state; what logs hold is a little newer.
* Lists are cut (`MOVES_MAX`, ...); beside each stands how many there are.
"""

from __future__ import annotations

import json
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

import attrs

from controller.host import Controller
from controller.model.requests import PartitionReassignment
from controller.model.throttle_settings import LISTS, RATES
from controller.model.values import TopicPartition
from controller.model.view import ClusterView
from controller.rig.live import LiveCluster
from controller.runtime.journal import CallableSink
from controller.wire.measured import events

MOVES_MAX: Final = 100
TOPICS_MAX: Final = 50
ROWS_MAX: Final = 30
VALUE_MAX: Final = 120
_SHARE: Final = 20  # it may take this part of the time
_FRESH_S: Final = 0.4
_QUERY_S: Final = 10.0
_RATES: Final = tuple(name for names in RATES.values() for name in names)


class Recent:
    """The newest rows of a journal; a sink for it in `sink`. Thread-safe."""

    def __init__(self, rows_max: int = ROWS_MAX) -> None:
        self._lock = threading.Lock()
        self._lines: deque[str] = deque(maxlen=rows_max)
        self.sink = CallableSink(self._take)

    def _take(self, lines: Sequence[str]) -> None:
        with self._lock:
            self._lines.extend(lines)

    def rows(self) -> list[dict[str, Any]]:
        """Newest first."""
        with self._lock:
            lines = list(self._lines)
        return [json.loads(line) for line in reversed(lines)]


@attrs.frozen
class _Load:
    """What brokers have, counted in one pass."""

    leaders: dict[int, int]
    replicas: dict[int, int]
    leaving: int
    under_replicated: int
    leaderless: int


class Status:
    """`controller`: the one to ask. `cluster`: its brokers, where they are ours. `about`: what does not change.
    `counts`: what clients did (`Gateway.counts`)."""

    def __init__(
        self,
        controller: Callable[[], Controller],
        cluster: LiveCluster,
        recent: Recent,
        counts: Mapping[str, int],
        about: Mapping[str, Any],
    ) -> None:
        self._controller, self._cluster, self._recent = controller, cluster, recent
        self._counts, self._about = counts, about
        self._lock = threading.Lock()
        self._made = b""
        self._stale_at_s = 0.0

    def page(self) -> tuple[str, bytes]:
        """Content type and body."""
        with self._lock:
            now_s = time.monotonic()
            if now_s >= self._stale_at_s:
                self._made = json.dumps(self._make(), separators=(",", ":")).encode()
                took_s = time.monotonic() - now_s
                self._stale_at_s = now_s + max(_FRESH_S, took_s * _SHARE)
            return "application/json", self._made

    def _make(self) -> dict[str, Any]:
        controller = self._controller()
        described = controller.describe()
        state = controller.query(_state).result(_QUERY_S)
        moves = controller.admin.list_partition_reassignments().result(_QUERY_S)
        held = self._cluster.held_bytes()
        for broker in state["brokers"]:
            broker["bytes"] = held.get(broker["id"])
        return {
            **self._about,
            "at_ms": time.time_ns() // 1_000_000,
            "controller": described.controller_id,
            "controller_epoch": described.controller_epoch,
            "topics": described.topics,
            "partitions": described.partitions,
            "moves": [_move(self._cluster, tp, moves[tp]) for tp in _first(moves, MOVES_MAX)],
            "moves_count": len(moves),
            **state,
            "throttles_to_remove": {kind: list(names) for kind, names in described.throttles_to_remove.items()},
            "deleting_topics": list(described.deleting_topics)[:TOPICS_MAX],
            "replicas_to_delete": described.replicas_to_delete,
            "findings": [f"{key}: {said}" for key, said in _first(described.findings.items(), TOPICS_MAX)],
            "requests": self._counts["requests"],
            "events": dict(sorted(events(dict(self._counts)).items())),
            "kept_bytes": self._cluster.logs.kept_bytes,
            "journal": [_row(row) for row in self._recent.rows()],
        }


def _first(found: Iterable[Any], count: int) -> list[Any]:
    return [one for one, _ in zip(found, range(count), strict=False)]


def _state(view: ClusterView) -> dict[str, Any]:
    load = _counted(view)
    brokers = [
        {
            "id": broker,
            "rack": view.brokers[broker].rack if broker in view.brokers else None,
            "is_live": broker in view.brokers,
            "leaders": load.leaders.get(broker, 0),
            "replicas": load.replicas.get(broker, 0),
            "throttles": _set(view.broker_config(str(broker)), _RATES),
        }
        for broker in sorted({*view.brokers, *view.admitted_brokers()})
    ]
    topics = [(name, said) for name in view.topic_names() if (said := _set(view.topic_config(name), LISTS))]
    return {
        "brokers": brokers,
        "throttled_topics": [{"topic": name, **said} for name, said in sorted(topics)[:TOPICS_MAX]],
        "throttled_topics_count": len(topics),
        "leaving_partitions": load.leaving,
        "under_replicated": load.under_replicated,
        "leaderless": load.leaderless,
    }


def _counted(view: ClusterView) -> _Load:
    leaders: dict[int, int] = {}
    replicas: dict[int, int] = {}
    leaving = under = leaderless = 0
    for partition in view.partitions():
        for broker in partition.members:
            replicas[broker] = replicas.get(broker, 0) + 1
        leaders[partition.leader] = leaders.get(partition.leader, 0) + 1
        leaving += partition.status_code != 0
        leaderless += partition.leader < 0
        under += partition.move is None and len(partition.isr) < len(partition.replicas)
    return _Load(leaders, replicas, leaving, under, leaderless)


def _set(configs: Mapping[str, str], names: Iterable[str]) -> dict[str, str]:
    return {name: configs[name] for name in names if configs.get(name)}


def _move(cluster: LiveCluster, tp: TopicPartition, move: PartitionReassignment) -> dict[str, Any]:
    ends, leader = cluster.log_ends(tp)
    waits = [
        {
            "broker": waiting.broker,
            "is_down": waiting.down,
            "has": ends.get(waiting.broker, 0),
            "of": leader,
        }
        for waiting in move.waiting_on
    ]
    return {
        "topic": tp.topic,
        "partition": tp.partition,
        "replicas": list(move.replicas),
        "target": list(move.target_replicas),
        "isr": list(move.isr),
        "adding": list(move.adding),
        "removing": list(move.removing),
        "waits_on": waits,
        "started_at_ms": move.started_at,
    }


def _row(row: Mapping[str, Any]) -> dict[str, Any]:
    """What the page shows of a row."""
    shown = ("ts", "event", "topic", "partition", "replicas", "isr", "target", "leader", "broker", "cause")
    said = {name: row[name] for name in shown if name in row}
    detail = row.get("detail", {})
    if "entity" in detail:
        said["entity"] = detail["entity"]
        said["changes"] = _changes(detail["was"], detail["configs"])
    return said


def _changes(was: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    changed = sorted(name for name in {**was, **now} if was.get(name) != now.get(name))
    return [f"{name}={now[name]}"[:VALUE_MAX] if name in now else f"{name} taken back" for name in changed[:TOPICS_MAX]]
