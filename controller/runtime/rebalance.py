"""When to check whether brokers lead the partitions that prefer them: 5 s after a takeover (or after one interval, if
that is shorter), then once per interval. The check visits all partitions, so it never follows an event."""

from __future__ import annotations

from typing import Final

from ..model.events import Event, RebalanceDue
from ..model.values import Settings

FIRST_MS: Final = 5_000


class Rebalancing:
    """The timer of one term. Times are `elapsed_ms`."""

    def __init__(self, settings: Settings, elapsed_ms: int) -> None:
        self._interval_ms = settings.leader_imbalance_check_interval_seconds * 1000
        first_ms = elapsed_ms + min(FIRST_MS, self._interval_ms)
        self.next_due_ms = first_ms if settings.auto_leader_rebalance_enable else None

    def due(self, now_ms: int, elapsed_ms: int) -> list[Event]:
        if self.next_due_ms is None or elapsed_ms < self.next_due_ms:
            return []
        self.next_due_ms = elapsed_ms + self._interval_ms
        return [RebalanceDue(now_ms)]
