"""Virtual time: it advances only by a call, for all nodes at once; single nodes may have a wrong wall clock."""

from __future__ import annotations

from typing import Final

EPOCH_MS: Final = 1_700_000_000_000  # Unix time at which every simulation begins


class VirtualClock:
    """The time of a simulation, as `kedge.controller.runtime.clock.Clock`. Begins at `start_ms`, monotonic time at
    0."""

    def __init__(self, start_ms: int = EPOCH_MS) -> None:
        self._start_ms = start_ms
        self.elapsed_ms = 0

    def now_ms(self) -> int:
        """Unix time in milliseconds."""
        return self._start_ms + self.elapsed_ms

    def monotonic_s(self) -> float:
        """Seconds since the simulation began."""
        return self.elapsed_ms / 1000

    def advance(self, ms: int) -> None:
        """Advance by `ms`. Raises ValueError for a negative number."""
        if not ms >= 0:  # nor is NaN
            raise ValueError(f"time does not go back: {ms} ms")
        self.elapsed_ms += ms

    def sleep(self, seconds: float) -> None:
        """Advance during a wait: called by a `kedge.stores.faults.Delay`."""
        self.advance(round(seconds * 1000))


class NodeClock:
    """The clock of one node: the common time, with a wall clock that may be wrong by `skew_ms`. Its monotonic time is
    the common one: a jump of the wall clock must not affect deadlines that are kept by monotonic time."""

    def __init__(self, common: VirtualClock) -> None:
        self._common = common
        self.skew_ms = 0

    def now_ms(self) -> int:
        """Unix time according to this node."""
        return self._common.now_ms() + self.skew_ms

    def monotonic_s(self) -> float:
        """Seconds since the simulation began."""
        return self._common.monotonic_s()

    def jump(self, ms: int) -> None:
        """The wall clock is set `ms` forward, or back."""
        self.skew_ms += ms
