"""Time limits: seconds in the public API, whole milliseconds inside."""

from __future__ import annotations

import math
from typing import Final

MILLISECONDS_MAX: Final = 2**53  # the largest number of milliseconds that a float holds exactly


def milliseconds(seconds: float, name: str) -> int:
    """`seconds` in milliseconds, rounded. TypeError if it is not a number, ValueError if it is negative, not finite or
    above 2^53 ms. `name`: the argument, for the message."""
    if type(seconds) is not float and type(seconds) is not int:
        raise TypeError(f"{name} must be a number of seconds, not {seconds!r:.80}")
    if not 0 <= seconds < math.inf or seconds * 1000 > MILLISECONDS_MAX:
        raise ValueError(f"{name} must be within 0..2^53 ms, in seconds: {seconds!r:.80}")
    return round(seconds * 1000)
