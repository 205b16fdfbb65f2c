"""When to check whether read-only partitions may go offline (KIP-694).

The first check is 5 s after a takeover (or after one interval, if that is shorter), as for preferred leaders; then one
per interval. A check does not change the times, which are in the keys.
"""

from __future__ import annotations

from typing import Final

from ..model.events import Event, RetirementsDue
from ..model.reductions import READ_ONLY
from ..rules.reduction.configs import interval_ms
from ..state import ClusterState
from .log_reports import LogReports

FIRST_MS: Final = 5_000


class Retirements:
    """The timer of one term. Times are `elapsed_ms`."""

    def __init__(self, state: ClusterState, log_reports: LogReports, elapsed_ms: int) -> None:
        self._state = state
        self._log_reports = log_reports
        self._began_ms = elapsed_ms
        self._looked_ms: int | None = None

    @property
    def next_due_ms(self) -> int | None:
        """None while no reduction runs."""
        if not self._state.reducing.of:
            return None
        interval = interval_ms(self._state)
        if self._looked_ms is None:
            return self._began_ms + min(FIRST_MS, interval)
        return self._looked_ms + interval

    def due(self, now_ms: int, elapsed_ms: int) -> list[Event]:
        due_ms = self.next_due_ms
        if due_ms is None or elapsed_ms < due_ms:
            return []
        self._looked_ms = elapsed_ms
        return [RetirementsDue(now_ms, self._empty())]

    def _empty(self) -> frozenset[tuple[str, int, int]]:
        """The read-only partitions whose leader reported, under its present epoch, that its log is empty."""
        found = set()
        for topic, reduction in self._state.reducing.of.items():
            for number in reduction.entries:
                p = self._state.partition(topic, number)
                if p is None or p.status_code != READ_ONLY:
                    continue
                said = self._log_reports.of(topic, number, p.leader)
                if said is None or said.leader_epoch != p.leader_epoch or said.start_offset != said.end_offset:
                    continue
                found.add((topic, number, p.leader_epoch))
        return frozenset(found)
