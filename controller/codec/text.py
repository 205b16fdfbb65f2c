"""Reads JSON that any program may have written: broken content is an error of that one key and stops nothing else.

`BadValue` says what was expected and what was got. Checks are by exact type (a JSON `true` is no number) and by range,
so that an absurd number is refused here and does not reach the rules.
"""

from __future__ import annotations

import json
import math
import reprlib
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import lru_cache
from typing import Final, NoReturn, cast

from ..model.sensitive_configs import HIDDEN
from ..model.values import Extra, Replicas

INT32_MAX: Final = 2**31 - 1
EPOCH_MAX: Final = 2**31 - 2**16  # leaves room to count on; a larger epoch cannot be the result of counting
TIME_MS_MAX: Final = 2**53
SOME_BROKERS: Final = "a list of broker ids"
EACH_ONCE: Final = "every broker id once"
_DEPTH_MAX: Final = 50  # of unknown fields: they are written from a deeper stack than they are read from


class BadValue(ValueError):
    """The value of a key is invalid. The message says where, what was expected and what was got, and so do the fields:
    `where` is "" for the whole value, `expected` is "" where there is only the message."""

    def __init__(self, message: str, *, where: str = "", expected: str = "", got: object = None) -> None:
        super().__init__(message)
        self.where = where
        self.expected = expected
        self.got = got


def bad(where: str, expected: str, got: object) -> NoReturn:
    said = f"{where:.120}: expected {expected}, got {reprlib.repr(got):.120}"  # unlike repr(), limited in depth
    raise BadValue(said, where=where, expected=expected, got=got)


def hidden(error: BadValue) -> BadValue:
    """The same error, without what was got, for a key that may hold passwords."""
    where, expected = error.where, error.expected or "JSON"
    said = f"{where:.120}: expected" if where else "expected"
    return BadValue(f"{said} {expected}, got {HIDDEN}", where=where, expected=expected, got=HIDDEN)


def _no_constant(name: str) -> NoReturn:
    raise BadValue(f"{name} is not JSON")


def _finite(digits: str) -> float:
    found = float(digits)
    if not math.isfinite(found):  # it would be written back as Infinity, which is not JSON
        raise BadValue(f"{digits:.40} is too large")
    return found


_DECODER: Final = json.JSONDecoder(parse_constant=_no_constant, parse_float=_finite)
_BETWEEN: Final = b",null,"


def parse(value: bytes) -> object:
    """The JSON of `value`. Raises BadValue."""
    try:
        return cast(object, _DECODER.decode(value.decode("utf-8")))
    except (ValueError, RecursionError) as error:
        said = f"not JSON: {error}; the value begins {value[:40]!r}"
        raise BadValue(said, expected="JSON", got=value[:40]) from None


def parse_many(values: Sequence[bytes]) -> list[object]:
    """The JSON of each value, with a BadValue in the place of a broken one. One parse for all is four times as fast as
    one by one, which is the fallback when the whole cannot be parsed.

    Two broken values may form a good one together (`[{}` and `{}]`), so a null is put between each two: if the values
    themselves have no null and every second element is one, then each element is the value between two nulls.
    """
    joined = _BETWEEN.join(values)
    if values and joined.count(b"null") == len(values) - 1:
        try:
            together = cast("list[object]", _DECODER.decode((b"[" + joined + b"]").decode("utf-8")))
            if len(together) == 2 * len(values) - 1 and not any(part is not None for part in together[1::2]):
                return together[::2]
        except (ValueError, RecursionError):
            pass
    return [_parse_or_error(value) for value in values]


def _parse_or_error(value: bytes) -> object:
    try:
        return parse(value)
    except BadValue as error:
        return error


def fields(raw: object, where: str) -> dict[str, object]:
    """`raw` as a JSON object. Raises BadValue."""
    if type(raw) is not dict:
        bad(where, "a JSON object", raw)
    return cast("dict[str, object]", raw)


def number(raw: object, where: str, low: int, high: int) -> int:
    """`raw` as a whole number within low..high. Raises BadValue."""
    if type(raw) is not int or not low <= raw <= high:
        bad(where, f"a whole number within {low}..{high}", raw)
    return raw


def text(raw: object, where: str) -> str:
    if type(raw) is not str:
        bad(where, "a text", raw)
    return raw


def broker_ids(raw: object, where: str) -> Replicas:
    """`raw` as a list of distinct broker ids, at least one. Raises BadValue."""
    if type(raw) is not list or not raw:
        bad(where, SOME_BROKERS, raw)
    for broker in raw:
        if type(broker) is not int or not 0 <= broker <= INT32_MAX:
            bad(where, "broker ids within 0..2^31-1", raw)
    if len(raw) > 1 and len(set(raw)) != len(raw):
        bad(where, EACH_ONCE, raw)
    return tuple(raw)


def unknown_fields(found: Mapping[str, object], known: AbstractSet[str]) -> Extra | None:
    """The fields that are not `known`, to be written back unchanged; None where there are none. Raises BadValue."""
    if found.keys() <= known:
        return None
    extra = {name: content for name, content in found.items() if name not in known}
    level: list[object] = list(extra.values())
    for _ in range(_DEPTH_MAX):
        if not level:
            return extra or None
        inner: list[object] = []
        for content in level:
            if type(content) is dict:
                inner += content.values()
            elif type(content) is list:
                inner += content
        level = inner
    bad("unknown fields", f"at most {_DEPTH_MAX} levels", sorted(extra))


_ENCODER: Final = json.JSONEncoder(separators=(",", ":"))  # json.dumps builds one per call: half of its time


def dump(value: object) -> str:
    """Compact JSON text."""
    return _ENCODER.encode(value)


@lru_cache(maxsize=4096)
def dump_name(name: str) -> str:
    """The JSON text of a name that is written often, such as a topic's name or id."""
    return _ENCODER.encode(name)


@lru_cache(maxsize=8192)
def dump_ids(ids: Replicas) -> str:
    """`[1,2,3]`, cached: many partitions have the same brokers, and each is written several times during a move."""
    if len(ids) == 3:  # the most common length: this takes half the time
        first, second, third = ids
        return f"[{first},{second},{third}]"
    return "[" + ",".join(map(str, ids)) + "]"


def dump_extra(extra: object) -> str:
    """Unknown fields as JSON text that follows other fields: `,"a":1`, or nothing."""
    return "," + dump(extra)[1:-1] if extra else ""
