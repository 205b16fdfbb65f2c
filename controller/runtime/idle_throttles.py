"""Warns about throttles that are to be removed with the next move while no move runs.

It waits a while, since the commands set rates before they start a move.
"""

from __future__ import annotations

import logging
from typing import Final

from ..model import records as r
from ..state import ClusterState

AFTER_MS: Final = 10_000
_NAMED_MAX: Final = 20
_log = logging.getLogger(__name__)


class IdleThrottles:
    """The warnings of one term. Times are `elapsed_ms`."""

    def __init__(self, state: ClusterState) -> None:
        self._state = state
        self._waiting: dict[str, tuple[int, tuple[str, ...]]] = {}  # topics or brokers -> when to warn, and which

    @property
    def next_due_ms(self) -> int | None:
        return min((due_ms for due_ms, _ in self._waiting.values()), default=None)

    def marked(self, record: r.ThrottleMarkChanged, elapsed_ms: int) -> None:
        """The set of throttles that are removed automatically has changed."""
        self._waiting.pop(record.slot, None)
        if record.after.owners and self._is_idle():
            self._waiting[record.slot] = (elapsed_ms + AFTER_MS, tuple(record.after.owners[:_NAMED_MAX]))

    def say(self, elapsed_ms: int) -> None:
        """Log the warnings that are due, unless something moves by now."""
        for slot in [slot for slot, (due_ms, _) in self._waiting.items() if due_ms <= elapsed_ms]:
            _, owners = self._waiting.pop(slot)
            if self._is_idle():
                what = f"throttles of {slot} {', '.join(owners)}"
                _log.warning("%s are set while no move runs: they are removed when the next move has ended", what)

    def _is_idle(self) -> bool:
        state = self._state
        return not state.is_reassigning and state.throttles.request is None and not state.throttles.is_removing
