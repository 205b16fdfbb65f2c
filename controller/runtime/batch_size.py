"""How many decisions one commit takes.

Few, where the store answers at once: whoever asks for a listing waits for the batch that is under way. A store that
takes long for a commit, whatever stands in it (a sync to the disks of a majority), gets as many as are decided in about
the time that it takes, but no more than in 30 ms: a listing waits for that span and the commit. While nobody is
answered at all (`hurry`) there are many from the first on. A Decision that took many records (a purge has one for each
partition) counts for as many as would have taken them: a hundred of those held everyone up for a quarter of a second.
"""

from __future__ import annotations

from typing import Final

from controller.runtime.clock import Clock

DECISIONS_FEW: Final = 100
DECISIONS_MANY: Final = 500
_SPAN_S_MAX: Final = 0.03  # of deciding, where somebody may wait for an answer
_RECORDS_EACH: Final = 10  # of a Decision, and a move takes fewer
_GROWTH: Final = 2  # at most, from one commit to the next: one that met a pause of the store says little


class BatchSize:
    """The size of the next batch, by the clock. `most`: what it never exceeds."""

    def __init__(self, clock: Clock, most: int) -> None:
        self._clock = clock
        self._most = most
        self._few = min(DECISIONS_FEW, most)
        self._hurries = False
        self._began_s = self._decided_s = 0.0
        self.decisions = self._few

    def hurry(self) -> None:
        """Nobody waits for an answer between two commits."""
        self._hurries = True
        self._few = self.decisions = min(DECISIONS_MANY, self._most)

    def calm(self) -> None:
        """Somebody may wait again."""
        self._hurries = False
        self._few = self.decisions = min(DECISIONS_FEW, self._most)

    @property
    def records(self) -> int:
        """How many records close a batch that has fewer decisions than it may take."""
        return self.decisions * _RECORDS_EACH

    def begin(self) -> None:
        """Deciding begins."""
        self._began_s = self._clock.monotonic_s()

    def decided(self) -> None:
        """Deciding is over, the commit begins."""
        self._decided_s = self._clock.monotonic_s()

    def committed(self, decisions: int) -> None:
        """The commit of so many decisions is known to stand."""
        deciding_s = self._decided_s - self._began_s
        if deciding_s <= 0.0 or not decisions:
            return  # a clock that stands still, as in a simulation
        span_s = self._clock.monotonic_s() - self._decided_s
        if not self._hurries:
            span_s = min(span_s, _SPAN_S_MAX)
        fitting = int(decisions * span_s / deciding_s)
        self.decisions = max(self._few, min(fitting, _GROWTH * decisions, self._most))

    def too_many(self, decisions: int) -> None:
        """The store refused a batch of so many for its size: half of it, until the next commit stands."""
        self.decisions = max(1, decisions // 2)
