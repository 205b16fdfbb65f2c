"""What the status page shows, as JSON: what moves and waits on whom, load per broker, throttles, the newest rows.

Rules
* It is asked once a second by each page that is open, and made at most so often that it takes a twentieth of the
  controller's time: between, everybody gets what was made last.
* Numbers are those of one moment of the committed state; what logs hold is a little newer, or what brokers of other
  processes reported last.
* A controller that stands by says so, and who is active; of the cluster it knows the brokers of its own process.
* Lists are cut (`MOVES_MAX`, ...); beside each stands how many there are.
"""

from __future__ import annotations

import json
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Final

from controller.cli.serve.loads import COUNTED, TOPICS_MAX, loads
from controller.host import Controller, Description
from controller.model.errors import NotController
from controller.model.requests import PartitionReassignment
from controller.model.values import TopicPartition
from controller.runtime.journal import CallableSink
from controller.server import LiveCluster
from controller.simulated.replica import Role
from controller.wire.measured import events

MOVES_MAX: Final = 100
ROWS_MAX: Final = 30
VALUE_MAX: Final = 120
_SHARE: Final = 20  # it may take this part of the time
_FRESH_S: Final = 0.4
_QUERY_S: Final = 10.0


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
        shown = {
            **self._about,
            "at_ms": time.time_ns() // 1_000_000,
            "controller": described.controller_id,
            "findings": [f"{key}: {said}" for key, said in _first(described.findings.items(), TOPICS_MAX)],
            "requests": self._counts["requests"],
            "events": dict(sorted(events(dict(self._counts)).items())),
            "kept_bytes": self._cluster.logs.kept_bytes,
            "journal": [_row(row) for row in self._recent.rows()],
        }
        if described.is_active:
            try:
                return shown | self._led(controller, described)
            except NotController:
                described = controller.describe()
        return shown | self._standing_by(described)

    def _led(self, controller: Controller, described: Description) -> dict[str, Any]:
        state = controller.query(partial(loads, ours=self._cluster.brokers, told=controller.reported_log))
        moves = controller.admin.list_partition_reassignments().result(_QUERY_S)
        rows = state.result(_QUERY_S)
        held = self._cluster.held_bytes()
        for broker in rows["brokers"]:
            broker["bytes"] = held.get(broker["id"], broker["bytes"])
        return {
            "active": described.controller_id,
            "controller_epoch": described.controller_epoch,
            "topics": described.topics,
            "partitions": described.partitions,
            "moves": [self._move(controller, tp, moves[tp]) for tp in _first(moves, MOVES_MAX)],
            "moves_count": len(moves),
            **rows,
            "throttles_to_remove": {kind: list(names) for kind, names in described.throttles_to_remove.items()},
            "deleting_topics": list(described.deleting_topics)[:TOPICS_MAX],
            "replicas_to_delete": described.replicas_to_delete,
        }

    def _standing_by(self, described: Description) -> dict[str, Any]:
        counts = ("topics", "partitions", "moves_count", "throttled_topics_count", "replicas_to_delete")
        return {
            "active": described.active_id,
            "controller_epoch": None,
            "moves": [],
            "brokers": _own(self._cluster),
            "throttled_topics": [],
            "throttles_to_remove": {},
            "deleting_topics": [],
            **dict.fromkeys((*counts, *COUNTED), 0),
        }

    def _move(self, controller: Controller, tp: TopicPartition, move: PartitionReassignment) -> dict[str, Any]:
        ends, leader = self._ends(controller, tp, move)
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

    def _ends(
        self, controller: Controller, tp: TopicPartition, move: PartitionReassignment
    ) -> tuple[dict[int, int], int]:
        """Where logs end, and where the leader's does; of brokers elsewhere as they reported it, and as far as all in
        sync have it."""
        ends, leader = self._cluster.log_ends(tp)
        far = {*move.replicas, *move.target_replicas} - self._cluster.brokers.keys()
        reported = {b: report.end_offset for b in far if (report := controller.reported_log(tp, b)) is not None}
        if leader < 0:
            leader = max((end for b, end in reported.items() if b in move.isr), default=leader)
        return {**reported, **ends}, leader


def _first(found: Iterable[Any], count: int) -> list[Any]:
    return [one for one, _ in zip(found, range(count), strict=False)]


def _own(cluster: LiveCluster) -> list[dict[str, Any]]:
    """The brokers of this process, as they see themselves."""
    held = cluster.held_bytes()
    with cluster.lock:
        return [
            {
                "id": broker_id,
                "rack": broker.registration.rack,
                "is_live": broker.is_up,
                "leaders": sum(1 for _ in broker.serving(Role.LEADER)),
                "replicas": len(broker.replicas),
                "throttles": {},
                "bytes": held[broker_id],
            }
            for broker_id, broker in sorted(cluster.brokers.items())
        ]


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
