"""Maintenance windows: when a wave may start, such as "22:00-04:00 UTC" or "Mon-Fri,Sun 22:00-04:00 Europe/Berlin".

* The days are those on which a window opens; without them it opens every day.
* An end that is not later than the begin is on the next day. 24:00 is the end of the day.
* Times are local times of the zone, which is UTC or a name of the IANA database; without one they are UTC.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import Any, Final
from zoneinfo import ZoneInfo

import attrs

from .errors import BadInput

_DAYS: Final = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_DAY: Final = f"(?:{'|'.join(_DAYS)})"
_SPAN: Final = f"{_DAY}(?:-{_DAY})?"
_TIME: Final = r"([01][0-9]|2[0-3]):([0-5][0-9])|24:00"
_WINDOW: Final = re.compile(rf"(?:({_SPAN}(?:,{_SPAN})*) )?(?P<begin>{_TIME})-(?P<end>{_TIME})(?: (?P<zone>\S+))?")
_MIDNIGHT: Final = "24:00"


@attrs.frozen
class Window:
    """One window. `days`: on which it opens, Monday is 0; `end`: None at the end of the day."""

    text: str
    days: frozenset[int]
    begin: time
    end: time | None
    zone: tzinfo

    def on(self, day: date) -> tuple[datetime, datetime]:
        """When the window of this day opens and closes, in UTC."""
        is_next = self.end is None or self.end <= self.begin
        ends = datetime.combine(day + timedelta(days=is_next), self.end or time(), self.zone)
        return datetime.combine(day, self.begin, self.zone).astimezone(UTC), ends.astimezone(UTC)


def window(text: Any) -> Window:
    """The window that the text describes. Raises BadInput."""
    read = _WINDOW.fullmatch(text) if isinstance(text, str) else None
    if read is None or read["begin"] in (_MIDNIGHT, read["end"]):
        raise BadInput(f"expected a window such as '22:00-04:00 UTC' or 'Sat,Sun 08:00-24:00 UTC', got {text!r:.80}")
    begin, end = (None if part == _MIDNIGHT else time.fromisoformat(part) for part in (read["begin"], read["end"]))
    return Window(text, _days(read[1]), begin or time(), end, _zone(read["zone"] or "UTC"))


def _days(text: str | None) -> frozenset[int]:
    found: set[int] = set()
    for part in () if text is None else text.split(","):
        first, *_, last = (_DAYS.index(day) for day in part.split("-") * 2)
        found |= {(first + n) % 7 for n in range((last - first) % 7 + 1)}
    return frozenset(found or range(7))


def _zone(name: str) -> tzinfo:
    try:
        return UTC if name == "UTC" else ZoneInfo(name)
    except (KeyError, ValueError, OSError):  # not there, not a name, or a folder
        raise BadInput(f"unknown time zone {name!r:.80}; expected UTC or a name such as Europe/Berlin") from None


def opens_at(windows: Iterable[Window], now: datetime) -> datetime:
    """`now` if one of the windows is open or there is none, else when the next one opens."""
    near = [(one, now.astimezone(one.zone).date() + timedelta(days=n)) for one in windows for n in range(-1, 9)]
    found = [one.on(day) for one, day in near if day.weekday() in one.days]
    is_open = not found or any(opens <= now < closes for opens, closes in found)
    return now if is_open else min(opens for opens, _ in found if opens > now)


def closed_s(windows: Iterable[Window], now: datetime, told: Callable[[str], object]) -> float:
    """The seconds until a window is open, 0 if one is; `told` is called with the time of the next one."""
    opens = opens_at(windows, now)
    if opens > now:
        told(f"the next maintenance window opens at {opens:%Y-%m-%d %H:%M} UTC")
    return (opens - now).total_seconds()
