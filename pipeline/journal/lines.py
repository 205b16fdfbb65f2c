"""A line of a journal as a typed event, or the reason why it is rejected.

* An event keeps the line's names and structure, as the rules of a legal trace expect. It adds the line's hash (of its
  unchanged bytes) and its place.
* Every known field has its type and fits its column in `tables`, or the line is rejected. Fields of a newer version
  are kept under `unknown`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Any, Final, NamedTuple

import attrs

from ...controller.codec.journal import REQUIRED, row_of
from .plain import reader

RAW_CHARACTERS_MAX: Final = 1000
BAD_LINE: Final = "bad line"
TORN_TAIL: Final = "torn tail"
FILE_GONE: Final = "file gone"

_INT_MAX: Final = 2**31 - 1
_LONG_MAX: Final = 2**63 - 1
_TS_MS_MIN: Final = -62_135_596_800_000  # the years 1 to 9999, the limits of Spark's and Python's times
_TS_MS_MAX: Final = 253_402_300_799_999


class Event(NamedTuple):
    """`row`: the line of the journal as a mapping; None if it is rejected, with `problem` and `reason`. `line`: from
    1, 0 for the file as a whole."""

    file: str
    line: int
    hash: str
    row: Mapping[str, Any] | None
    problem: str | None = None
    reason: str | None = None
    raw: str | None = None


def detail_of(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """The detail of a row, empty if it has none, or no object."""
    detail = row.get("detail")
    return detail if isinstance(detail, Mapping) else {}


@attrs.frozen
class _Whole:
    """Whether a value is a whole number within bounds."""

    low: int
    high: int

    def __call__(self, value: Any) -> bool:
        return type(value) is int and self.low <= value <= self.high


def _is_text(value: Any) -> bool:
    if type(value) is not str:
        return False
    if value.isascii():
        return True
    try:
        value.encode()
    except UnicodeEncodeError:  # a lone surrogate, which no text column can hold
        return False
    return True


def _is_brokers(value: Any) -> bool:
    """Uses functions in C, since most fields of most lines are such lists."""
    if type(value) is not list:
        return False
    return not value or (set(map(type, value)) == _NUMBERS and min(value) >= -_INT_MAX and max(value) <= _INT_MAX)


_NUMBERS: Final = {int}


def _is_object(value: Any) -> bool:
    return type(value) is dict


_INT: Final = _Whole(-_INT_MAX - 1, _INT_MAX)
_COUNT: Final = _Whole(0, _INT_MAX)

KINDS: Final[Mapping[str, tuple[Callable[[Any], bool], str]]] = {
    "epoch": (_COUNT, "a number from 0 to 2^31-1"),
    "seq": (_Whole(0, _LONG_MAX), "a number from 0 to 2^63-1"),
    "row": (_COUNT, "a number from 0 to 2^31-1"),
    "rows": (_COUNT, "a number from 0 to 2^31-1"),
    "ts": (_Whole(_TS_MS_MIN, _TS_MS_MAX), "milliseconds of a date of the years 1 to 9999"),
    "event": (_is_text, "text"),
    "topic": (_is_text, "text"),
    "topic_id": (_is_text, "text"),
    "partition": (_INT, "a number of 32 bits"),
    "replicas": (_is_brokers, "a list of brokers"),
    "isr": (_is_brokers, "a list of brokers"),
    "target": (_is_brokers, "a list of brokers"),
    "origin": (_is_brokers, "a list of brokers"),
    "leader": (_INT, "a number of 32 bits"),
    "leader_epoch": (_INT, "a number of 32 bits"),
    "partition_epoch": (_Whole(-_LONG_MAX - 1, _LONG_MAX), "a number of 64 bits"),
    "status": (_Whole(-128, 127), "a number of 8 bits"),
    "broker": (_INT, "a number of 32 bits"),
    "cause": (_is_text, "text"),
    "request": (_is_text, "text"),
    "detail": (_is_object, "an object"),
    "prev": (_is_text, "text"),
}
"""The fields of a line: a check, and its description."""

_BOUNDS: Final = {name: (kind.low, kind.high) for name, (kind, _) in KINDS.items() if isinstance(kind, _Whole)}
_TEXTS: Final = frozenset(name for name, (kind, _) in KINDS.items() if kind is _is_text)
_LISTS: Final = {name: (-_INT_MAX, _INT_MAX) for name, (kind, _) in KINDS.items() if kind is _is_brokers}

plain_row: Final = reader(_BOUNDS, _TEXTS, _LISTS, frozenset(REQUIRED))
"""The row of a well-formed line, by a reader in C; None for any other line, which `read_line` checks field by field."""


def read_line(file: str, number: int, line: bytes) -> Event:
    """The event of a line, given without its line end."""
    digest = sha256(line).hexdigest()
    plain = plain_row(line)
    return _read_slowly(file, number, digest, line) if plain is None else Event(file, number, digest, plain)


def _read_slowly(file: str, number: int, digest: str, line: bytes) -> Event:
    try:
        row = row_of(line)
        for name, value in row.items():
            kind = KINDS.get(name)
            if kind is not None and not kind[0](value):
                return _bad(file, number, digest, line, f"{name} is no {kind[1].removeprefix('a ')}: {value!r:.80}")
    except ValueError as error:
        return _bad(file, number, digest, line, str(error))
    return Event(file, number, digest, row)


def _bad(file: str, number: int, digest: str, line: bytes, reason: str) -> Event:
    return Event(file, number, digest, None, BAD_LINE, _printable(reason), raw_text(line))


def raw_text(line: bytes) -> str:
    """The text of a line for `rejected_rows`: its beginning, with bytes that are no text escaped."""
    return line[:RAW_CHARACTERS_MAX].decode("utf-8", "backslashreplace")


def _printable(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()
