"""How many decisions one commit takes.

If the store answers at once, a batch is small, since a query waits for the running batch. If a commit takes long
whatever its size (a sync to the disks of a majority), a batch takes as many decisions as can be made in that time, but
at most in 30 ms: a query waits for both. A Decision with many records (a purge has one per partition) counts as
several: a hundred of those delayed callers by a quarter of a second.
"""

from __future__ import annotations

from typing import Final

from .clock import Clock

DECISIONS_FEW: Final = 100
_SPAN_S_MAX: Final = 0.03  # of deciding, while a caller may wait for an answer
_RECORDS_EACH: Final = 10  # records that count as one decision; a move has fewer
_GROWTH: Final = 2  # at most, from one commit to the next, since a single slow commit may be an exception


class BatchSize:
    """The size of the next batch, from measured times. `most`: its limit."""

    def __init__(self, clock: Clock, most: int) -> None:
        self._clock = clock
        self._most = most
        self._few = min(DECISIONS_FEW, most)
        self._began_s = self._decided_s = 0.0
        self.decisions = self._few

    @property
    def records(self) -> int:
        """How many records close a batch that could take more decisions."""
        return self.decisions * _RECORDS_EACH

    def begin(self) -> None:
        self._began_s = self._clock.monotonic_s()

    def decided(self) -> None:
        """Deciding has ended, and the commit begins."""
        self._decided_s = self._clock.monotonic_s()

    def committed(self, decisions: int) -> None:
        """A commit with this number of decisions has succeeded."""
        deciding_s = self._decided_s - self._began_s
        if deciding_s <= 0.0 or not decisions:
            return  # the clock of a simulation does not advance
        span_s = min(self._clock.monotonic_s() - self._decided_s, _SPAN_S_MAX)
        fitting = int(decisions * span_s / deciding_s)
        self.decisions = max(self._few, min(fitting, _GROWTH * decisions, self._most))

    def too_many(self, decisions: int) -> None:
        """The store refused a batch of this size: halve it until the next commit."""
        self.decisions = max(1, decisions // 2)
