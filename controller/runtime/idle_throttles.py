"""Warns about throttles that are to be removed with the next move while no move runs.

It waits a while, since the commands set rates before they start a move.
"""

from __future__ import annotations

import logging
from typing import Final

from ..model.printable import clean
from ..model.throttles import KINDS
from ..state import ClusterState

AFTER_MS: Final = 10_000
_NAMED_MAX: Final = 20
_log = logging.getLogger(__name__)


class IdleThrottles:
    """The warnings of one term. Times are `elapsed_ms`."""

    def __init__(self, state: ClusterState) -> None:
        self._state = state
        self.next_due_ms: int | None = None

    def marked(self, elapsed_ms: int) -> None:
        self.next_due_ms = None if self._state.is_reassigning else elapsed_ms + AFTER_MS

    def say(self, elapsed_ms: int) -> None:
        """Log the warnings that are due, unless something moves by now."""
        if self.next_due_ms is None or elapsed_ms < self.next_due_ms:
            return
        self.next_due_ms = None
        state = self._state
        for kind in () if state.is_reassigning else KINDS:
            owners = [one for one in state.throttles.listed(kind) if not state.throttles.marks[kind][one].is_ended]
            if owners:
                what = clean(f"throttles of {kind} {', '.join(owners[:_NAMED_MAX])}")
                _log.warning("%s are set while no move runs: they are removed when the next move has ended", what)
