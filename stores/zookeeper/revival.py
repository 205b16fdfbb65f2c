"""The pause before kazoo, which gave up, is started again.

Without it, a server that drops every connection, or refuses a client that it accepted before, would be called without a
pause. A connection alone does not reset the pause, since a refused client had a connection too. It is reset once kazoo
has run for a while.
"""

from __future__ import annotations

from typing import Final

FIRST_S: Final = 0.5
MAX_S: Final = 8.0
_HELD_OUT_S: Final = 30.0  # after this long without giving up, pauses begin at FIRST_S again


class Revival:
    """The pauses of one client. Times are monotonic seconds."""

    def __init__(self) -> None:
        self._pause_s = 0.0
        self._began_s = 0.0  # when kazoo was, or will be, started again

    def pause_s(self, now_s: float) -> float:
        """Kazoo gave up at `now_s`. Returns the seconds until it is started again, twice as many as the last time."""
        if self._pause_s == 0.0 or now_s - self._began_s > _HELD_OUT_S:
            self._pause_s = FIRST_S
        else:
            self._pause_s = min(2 * self._pause_s, MAX_S)
        self._began_s = now_s + self._pause_s
        return self._pause_s
