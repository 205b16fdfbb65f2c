"""The running reassignments on the status page: how far each target has copied, how fast, and how long it will take.

Rules
* The first `MOVES_MAX` reassignments are listed and measured; how many there are is counted beside them.
* A target copies until it has as many bytes as its leader. Sizes are those of the logs in this process; of brokers in
  other processes those that they reported last, where they report any.
* The rate in all counts what all brokers of this process copied for reassignments, also beyond the listed ones, and
  what the listed targets in other processes copied.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeAlias, TypeVar

from ...host import Controller
from ...model.copying import Copy, Rates, slowest_s, together
from ...model.requests import PartitionReassignment, WaitingOn
from ...model.values import TopicPartition
from ...server import LiveCluster
from ...server.history import HISTORY_MS, History
from ...server.logs import LogEnd

MOVES_MAX: Final = 200
_QUERY_S: Final = 10.0

_T = TypeVar("_T")
_Target: TypeAlias = tuple[TopicPartition, int]
_Logs: TypeAlias = tuple[Mapping[int, LogEnd], LogEnd | None]
"""The logs of a partition by broker, and the leader's."""


def first(found: Iterable[_T], count: int) -> list[_T]:
    return [one for one, _ in zip(found, range(count), strict=False)]


def monotonic_ms() -> int:
    return time.monotonic_ns() // 1_000_000


class Moves:
    """The reassignments of a cluster; `read` takes a reading. `clock_ms`: a monotonic clock. Thread-safe."""

    def __init__(self, cluster: LiveCluster, clock_ms: Callable[[], int] = monotonic_ms) -> None:
        self._cluster, self._clock_ms = cluster, clock_ms
        self._lock = threading.Lock()
        self._ours: Rates[_Target] = Rates()
        self._elsewhere: Rates[_Target] = Rates()
        self._all: Rates[None] = Rates()
        self._history = History()

    def read(self, controller: Controller | None) -> dict[str, Any]:
        """Take a reading, and return what the page shows of it. `controller`: the active one, None on a standby, which
        lists no reassignment. Raises NotController where it has just lost the leadership."""
        moves: Mapping[TopicPartition, PartitionReassignment] = {}
        if controller is not None:
            moves = controller.admin.list_partition_reassignments().result(_QUERY_S)
        listed = first(moves, MOVES_MAX)
        with self._lock:
            logs = {tp: self._logs(controller, tp, moves[tp]) for tp in listed}
            self._measure({tp: moves[tp] for tp in listed}, logs)
            rows = [self._row(tp, moves[tp], logs[tp]) for tp in listed]
            now_ms = self._clock_ms()
            rate = self._all.copy(None, None).rate
            return {
                "moves": rows,
                "moves_count": len(moves),
                "copy_rate_bytes_s": rate if moves or controller is None else 0.0,
                "copy_rates": [(ago_ms, round(rate)) for ago_ms, rate in self._history.points(now_ms)],
                "copy_rates_ms": HISTORY_MS,
            }

    def _measure(
        self, moves: Mapping[TopicPartition, PartitionReassignment], logs: Mapping[TopicPartition, _Logs]
    ) -> None:
        ours: dict[_Target, int] = {}
        elsewhere: dict[_Target, int] = {}
        for tp, move in moves.items():
            for broker in _targets(move):
                log = logs[tp][0].get(broker)
                if broker in self._cluster.brokers:
                    ours[tp, broker] = 0 if log is None else log.size_bytes or 0
                elif log is not None and log.size_bytes is not None:
                    elsewhere[tp, broker] = log.size_bytes
        now_ms = self._clock_ms()
        self._ours.read(now_ms, ours)
        self._elsewhere.read(now_ms, elsewhere)
        total = self._cluster.reassignment_bytes() + self._elsewhere.grown
        self._all.read(now_ms, {None: total})
        self._history.read(now_ms, total)

    def _row(self, tp: TopicPartition, move: PartitionReassignment, logs: _Logs) -> dict[str, Any]:
        leader = logs[1]
        size = None if leader is None else leader.size_bytes
        copies = {broker: self._copy(tp, broker, size) for broker in _targets(move)}
        waiting = {waits.broker: waits for waits in move.waiting_on}
        late = [copies[broker] for broker in waiting]
        return {
            "topic": tp.topic,
            "partition": tp.partition,
            "replicas": list(move.replicas),
            "target": list(move.target_replicas),
            "isr": list(move.isr),
            "adding": list(move.adding),
            "removing": list(move.removing),
            "started_at_ms": move.started_at,
            **_shown(together(copies.values())),
            "is_stalled": any(copy.is_stalled for copy in late),
            "remaining_s": slowest_s(late),
            "waits_on": [_waits(waits, logs, copies[broker]) for broker, waits in waiting.items()],
        }

    def _copy(self, tp: TopicPartition, broker: int, size: int | None) -> Copy:
        rates = self._ours if broker in self._cluster.brokers else self._elsewhere
        return rates.copy((tp, broker), size)

    def _logs(self, controller: Controller | None, tp: TopicPartition, move: PartitionReassignment) -> _Logs:
        """Of brokers elsewhere as they reported it; where the leader is one of those, the longest log in the ISR."""
        logs, leader = self._cluster.log_ends(tp)
        far = {*move.replicas, *move.target_replicas} - self._cluster.brokers.keys()
        reported = {}
        for broker in far:
            report = None if controller is None else controller.reported_log(tp, broker)
            if report is not None:
                reported[broker] = LogEnd(report.end_offset, report.size_bytes)
        if leader is None:
            in_sync = (log for broker, log in reported.items() if broker in move.isr)
            leader = max(in_sync, key=lambda log: log.end_offset, default=None)
        return {**reported, **logs}, leader


def _targets(move: PartitionReassignment) -> list[int]:
    """Targets that are added, and those that are not in sync."""
    late = (waits.broker for waits in move.waiting_on)
    return list(dict.fromkeys([*move.adding, *late]))


def _waits(waits: WaitingOn, logs: _Logs, copy: Copy) -> dict[str, Any]:
    by_broker, leader = logs
    log = by_broker.get(waits.broker)
    return {
        "broker": waits.broker,
        "is_down": waits.down,
        "has": 0 if log is None else log.end_offset,
        "of": -1 if leader is None else leader.end_offset,
        **_shown(copy),
        "is_stalled": copy.is_stalled,
        "remaining_s": copy.remaining_s,
    }


def _shown(copy: Copy) -> dict[str, Any]:
    return {"bytes_copied": copy.copied, "bytes_to_copy": copy.to_copy, "rate_bytes_s": copy.rate}
