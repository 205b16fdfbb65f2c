"""When a connection on which nothing is answered any more is to be dropped.

kazoo asks for a sign of life only after it sent nothing for a while, so a client that goes on sending would stay for
ever with a server whose cable was pulled. In a pause of the client kazoo asks by itself, and would know: what was not
answered before it counts no more.
"""

from __future__ import annotations

from typing import Final

_SILENT_PART: Final = 2 / 3  # of the session time: as long as kazoo itself waits for an answer to a ping
_PAUSE_PART: Final = 1 / 3  # of the session time: after so long without a request kazoo sends a ping


class Silence:
    """What requests of one client met. Times are monotonic seconds."""

    def __init__(self) -> None:
        self._since_s: float | None = None  # when the first request was sent of those that got no answer
        self._last_s = 0.0  # when the last of them was given up

    def broken(self) -> None:
        """Something was answered, or the connection is another."""
        self._since_s = None

    def goes_on(self, began_s: float, now_s: float, session_timeout_s: float) -> bool:
        """A request that was sent at `began_s` is given up at `now_s`; whether the connection is to be dropped."""
        paused = began_s - self._last_s > session_timeout_s * _PAUSE_PART
        self._last_s = now_s
        if self._since_s is None or paused:
            self._since_s = began_s
        if now_s - self._since_s <= session_timeout_s * _SILENT_PART:
            return False
        self._since_s = None
        return True
