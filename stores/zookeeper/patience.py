"""When to drop a connection on which nothing is answered, and when to start kazoo again after it gave up.

Rules
* kazoo sends a ping only after it has sent nothing for a while, so a client that keeps sending would stay for ever with
  a server whose cable was pulled. During a pause of the client kazoo pings and would notice, so unanswered requests
  from before a pause do not count.
* Without a pause before each start, a server that drops every connection, or refuses a client that it accepted before,
  would be called without one. A connection alone does not reset the pause, since a refused client had one too.
* Times are monotonic seconds.
"""

from __future__ import annotations

from typing import Final

_SILENT_PART: Final = 2 / 3  # of the session time: as long as kazoo itself waits for the answer to a ping
_PAUSE_PART: Final = 1 / 3  # of the session time: after this long without a request kazoo sends a ping
FIRST_S: Final = 0.5
MAX_S: Final = 8.0
_HELD_OUT_S: Final = 30.0  # after this long without giving up, pauses begin at FIRST_S again


class Silence:
    """The unanswered requests of one client."""

    def __init__(self) -> None:
        self._since_s: float | None = None  # when the first of the unanswered requests was sent
        self._last_s = 0.0  # when the last of them was given up

    def broken(self) -> None:
        """An answer arrived, or the connection is a new one."""
        self._since_s = None

    def goes_on(self, began_s: float, now_s: float, session_timeout_s: float) -> bool:
        """A request sent at `began_s` is given up at `now_s`. Returns whether the connection is to be dropped."""
        paused = began_s - self._last_s > session_timeout_s * _PAUSE_PART
        self._last_s = now_s
        if self._since_s is None or paused:
            self._since_s = began_s
        if now_s - self._since_s <= session_timeout_s * _SILENT_PART:
            return False
        self._since_s = None
        return True


class Revival:
    """The pauses of one client before kazoo is started again."""

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
