"""What the status page shows, as JSON, and the files that the page is made of.

Rules
* Each open page asks for it once a second. It is made at most so often that this takes a twentieth of the time; until
  then every page gets what was made last.
* Rates need readings also while no page is open: a thread takes one a second, within the same share of the time.
* Numbers are those of one moment of the committed state. Sizes of logs are a little newer, or, of brokers in other
  processes, what these reported last.
* The page of a stand-by names the active controller, and shows the brokers of its own process only.
* Lists are bounded (`MOVES_MAX`, ...); the page shows the full count of each.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib.resources import files
from typing import Any, Final, Self

from ...host import Controller, Description
from ...model.errors import ControllerError, NotController
from ...runtime.journal import CallableSink
from ...server import LiveCluster
from ...simulated.replica import Role
from ...wire.measured import events
from .loads import COUNTED, TOPICS_MAX, loads
from .moves import Moves, first
from .pages import Page
from .words import count_in_words, event_in_words

log = logging.getLogger(__name__)

ROWS_MAX: Final = 30
VALUE_MAX: Final = 120
_SHARE: Final = 20  # the page, and the readings, may take this part of the time each
_FRESH_S: Final = 0.4
_READING_S: Final = 1.0
_QUERY_S: Final = 10.0
_FILES: Final = {
    "/": ("page.html", "text/html; charset=utf-8"),
    "/page.css": ("page.css", "text/css; charset=utf-8"),
    "/page.js": ("page.js", "text/javascript; charset=utf-8"),
    "/tables.js": ("tables.js", "text/javascript; charset=utf-8"),
    "/icon.svg": ("icon.svg", "image/svg+xml"),
}


class Recent:
    """The newest rows of a journal; `sink` takes them. Thread-safe."""

    def __init__(self, rows_max: int = ROWS_MAX) -> None:
        self._lock = threading.Lock()
        self._lines: deque[str] = deque(maxlen=rows_max)
        self.sink = CallableSink(self._take)

    def _take(self, lines: Sequence[str]) -> None:
        with self._lock:
            self._lines.extend(lines)

    def rows(self) -> list[dict[str, Any]]:
        with self._lock:
            lines = list(self._lines)
        return [json.loads(line) for line in reversed(lines)]


class Status:
    """`controller`: the one to ask. `cluster`: the brokers of this process. `about`: what does not change. `counts`:
    what clients did (`Gateway.counts`). `with status:` rates are measured also while no page is open."""

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
        self._moves = Moves(cluster)
        self._lock = threading.Lock()
        self._made = b""
        self._stale_at_s = 0.0
        self._is_over = threading.Event()
        self._reader = threading.Thread(target=self._keep_reading, name="kedge-rates", daemon=True)

    def pages(self) -> dict[str, Page]:
        folder = files(__package__) / "page"
        read = {path: (kind, (folder / name).read_bytes()) for path, (name, kind) in _FILES.items()}
        return {**{path: partial(read.__getitem__, path) for path in read}, "/status.json": self.page}

    def __enter__(self) -> Self:
        self._reader.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._reader.join()

    def _keep_reading(self) -> None:
        pause_s = _READING_S
        while not self._is_over.wait(pause_s):
            begun_s = time.monotonic()
            try:
                controller = self._controller()
                self._moves.read(controller if controller.is_active else None)
            except (ControllerError, TimeoutError):  # it has just lost the leadership, or is too busy
                pass
            except Exception:
                log.exception("copy rates were not measured")
            pause_s = max(_READING_S, (time.monotonic() - begun_s) * _SHARE)

    def page(self) -> tuple[str, bytes]:
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
        counted = dict(sorted(events(dict(self._counts)).items()))
        shown = {
            **self._about,
            "at_ms": time.time_ns() // 1_000_000,
            "controller": described.controller_id,
            "findings": [f"{key}: {finding}" for key, finding in first(described.findings.items(), TOPICS_MAX)],
            "findings_count": len(described.findings),
            "requests": self._counts["requests"],
            "events": counted,
            "events_in_words": {kind: count_in_words(kind) for kind in counted},
            "kept_bytes": self._cluster.logs.shelves.size_bytes,
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
        moves = self._moves.read(controller)
        rows = state.result(_QUERY_S)
        held = self._cluster.held_bytes()
        for broker in rows["brokers"]:
            broker["bytes"] = held.get(broker["id"], broker["bytes"])
        return {
            "active": described.controller_id,
            "controller_epoch": described.controller_epoch,
            "topics": described.topics,
            "partitions": described.partitions,
            **moves,
            **rows,
            "throttles_to_remove": {kind: list(names) for kind, names in described.throttles_to_remove.items()},
            "deleting_topics": list(described.deleting_topics)[:TOPICS_MAX],
            "replicas_to_delete": described.replicas_to_delete,
        }

    def _standing_by(self, described: Description) -> dict[str, Any]:
        counts = ("topics", "partitions", "throttled_topics_count", "replicas_to_delete")
        brokers = _own(self._cluster)
        return {
            "active": described.active_id,
            "controller_epoch": None,
            **self._moves.read(None),
            "brokers": brokers,
            "brokers_count": len(brokers),
            "topics_shown": [],
            "throttled_topics": [],
            "throttles_to_remove": {},
            "deleting_topics": [],
            **dict.fromkeys((*counts, *COUNTED), 0),
        }


def _own(cluster: LiveCluster) -> list[dict[str, Any]]:
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
    """What the page shows of a row. `words`: the event for people."""
    names = ("ts", "event", "topic", "partition", "replicas", "isr", "target", "leader", "broker", "cause")
    shown = {name: row[name] for name in names if name in row}
    shown["words"] = event_in_words(row["event"])
    detail = row.get("detail", {})
    if "entity" in detail:
        shown["entity"] = detail["entity"]
        shown["changes"] = _changes(detail["was"], detail["configs"])
    return shown


def _changes(was: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    changed = sorted(name for name in {**was, **now} if was.get(name) != now.get(name))
    return [f"{name}={now[name]}"[:VALUE_MAX] if name in now else f"{name} removed" for name in changed[:TOPICS_MAX]]
