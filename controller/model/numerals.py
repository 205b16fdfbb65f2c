"""Numbers and lists that people write: in options, files, urls and names. docs/commands.md has the grammar.

Digits are those of ASCII. Python's int() and float() also read 0_3, +3, blanks around a number and the digits of other
scripts, so `--brokers 0_3` would name broker 3. No command calls them for a text: `tests/house/test_numbers.py`.

The functions return None for a text of another form or a number outside the limits. The error is the caller's.
"""

from __future__ import annotations

import math
import re
from typing import Final

INT_MAX: Final = 2**31 - 1
LONG_MAX: Final = 2**63 - 1
_CHARACTERS_MAX: Final = 100
_WHOLE: Final = re.compile(r"[0-9]+|-0*[1-9][0-9]*")
_DECIMAL: Final = re.compile(r"[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")
_SIZE: Final = re.compile(r"([0-9]{1,18})(?:\.([0-9]{1,3}))? ?([KMGTP]i?B?|B)?")
_DURATION: Final = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,3})?) ?([smhd]?)")
_LETTERS: Final = "KMGTP"
_SECONDS: Final = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86_400}


def whole(text: str, low: int | None = 0, high: int | None = LONG_MAX) -> int | None:
    """7 or -1, within the limits; None as a limit: any."""
    if len(text) > _CHARACTERS_MAX or _WHOLE.fullmatch(text) is None:
        return None
    found = int(text)
    return None if (low is not None and found < low) or (high is not None and found > high) else found


def decimal(text: str) -> float | None:
    """7, 0.85 or 1e6: never below 0, infinite or NaN."""
    if len(text) > _CHARACTERS_MAX or _DECIMAL.fullmatch(text) is None:
        return None
    found = float(text)
    return found if math.isfinite(found) else None


def size(text: str) -> int | None:
    """The bytes of 123, 5GiB (1024) or 1.5GB (1000)."""
    read = _SIZE.fullmatch(text)
    if read is None:
        return None
    unit, fraction = read[3] or "", read[2] or ""
    factor = (1024 if "i" in unit else 1000) ** (_LETTERS.index(unit[0]) + 1) if unit not in {"", "B"} else 1
    found = int(read[1] + fraction) * factor // 10 ** len(fraction)
    return found if found <= LONG_MAX else None


def duration(text: str) -> float | None:
    """The seconds of 90, 1.5s, 15m, 2h or 1d."""
    read = _DURATION.fullmatch(text)
    return None if read is None else float(read[1]) * _SECONDS[read[2]]


def items(text: str, separator: str = ",") -> list[str]:
    """The parts of a list, without the blanks around them; one may be empty."""
    return [part.strip(" ") for part in text.split(separator)]


def ids(text: str, separator: str = ",") -> list[int] | None:
    """The ids of brokers or partitions in a list such as 1,2,3; one may be there twice."""
    found = [whole(part, 0, INT_MAX) for part in items(text, separator)]
    return None if None in found else [each for each in found if each is not None]
