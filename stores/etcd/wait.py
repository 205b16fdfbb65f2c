"""Deadlines. Every call has one, and shares it among its steps."""

from __future__ import annotations

import time
from typing import Final


class Deadline:
    """A point in time, `timeout_s` from now by the monotonic clock."""

    def __init__(self, timeout_s: float) -> None:
        self._at_s: Final = time.monotonic() + timeout_s

    @property
    def left_s(self) -> float:
        """The remaining time, never below 0."""
        return max(0.0, self._at_s - time.monotonic())

    @property
    def over(self) -> bool:
        return time.monotonic() >= self._at_s
