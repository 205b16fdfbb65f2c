"""Waits with a deadline."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Final

DEADLINE_S: Final = 60.0
_PAUSE: Final = threading.Event()


def until(holds: Callable[[], object], what: str = "what the test waits for", timeout_s: float = DEADLINE_S) -> None:
    """Return once `holds()` is true. AssertionError at the deadline."""
    deadline_s = time.monotonic() + timeout_s
    while not holds():
        assert time.monotonic() < deadline_s, f"not within {timeout_s:g} s: {what}"
        _PAUSE.wait(0.005)
