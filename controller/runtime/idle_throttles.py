"""Says of throttles that are to go with the next move, where no move comes.

Whoever sets rates before a move has to have time for that: the commands do both one after the other.
"""

from __future__ import annotations

import logging
from typing import Final

from controller.model import records as r
from controller.state import ClusterState

AFTER_MS: Final = 10_000
_NAMED_MAX: Final = 20
_log = logging.getLogger(__name__)


class IdleThrottles:
    """Of one term. Times are `elapsed_ms`."""

    def __init__(self, state: ClusterState) -> None:
        self._state = state
        self._waiting: dict[str, tuple[int, tuple[str, ...]]] = {}  # topics or brokers -> when it is due, and which

    @property
    def next_due_ms(self) -> int | None:
        return min((due_ms for due_ms, _ in self._waiting.values()), default=None)

    def marked(self, record: r.ThrottleMarkChanged, elapsed_ms: int) -> None:
        """What goes by itself is another than before."""
        self._waiting.pop(record.slot, None)
        if record.after.owners and self._is_idle():
            self._waiting[record.slot] = (elapsed_ms + AFTER_MS, tuple(record.after.owners[:_NAMED_MAX]))

    def say(self, elapsed_ms: int) -> None:
        """Those whose time has come are said, unless something moves by now."""
        for slot in [slot for slot, (due_ms, _) in self._waiting.items() if due_ms <= elapsed_ms]:
            _, owners = self._waiting.pop(slot)
            if self._is_idle():
                what = f"throttles of {slot} {', '.join(owners)}"
                _log.warning("%s are set while nothing moves: they go when the next move has ended", what)

    def _is_idle(self) -> bool:
        state = self._state
        return not state.is_reassigning and state.throttles.request is None and not state.throttles.is_removing
