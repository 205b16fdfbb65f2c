"""When to drop a connection on which nothing is answered.

kazoo sends a ping only after it has sent nothing for a while, so a client that keeps sending would stay for ever with a
server whose cable was pulled. During a pause of the client kazoo pings and would notice, so unanswered requests from
before a pause do not count.
"""

from __future__ import annotations

from typing import Final

_SILENT_PART: Final = 2 / 3  # of the session time: as long as kazoo itself waits for the answer to a ping
_PAUSE_PART: Final = 1 / 3  # of the session time: after this long without a request kazoo sends a ping


class Silence:
    """The unanswered requests of one client. Times are monotonic seconds."""

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
