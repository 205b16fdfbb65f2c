"""Arguments of any kind -> the values of requests and settings.

A class with `field_transformer=checked` takes what the annotations of its fields say, and numpy's numbers too, such as
the sum of a column of pandas: they become Python's, as which a plan keeps them. Anything else raises BadInput.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from functools import partial
from math import isnan
from numbers import Integral, Real
from operator import index
from os import fspath
from typing import Any, Final, TypeVar

import attrs
import numpy as np

from .errors import BadInput

T = TypeVar("T")
_INT64_MAX: Final = 2**63 - 1


def checked(_: type, fields: list[attrs.Attribute[Any]]) -> list[attrs.Attribute[Any]]:
    """Fields without a converter of their own get that of their annotation."""
    return [one.evolve(converter=partial(_field, one)) if one.converter is None else one for one in fields]


def whole(value: Any, what: str) -> int:
    """A whole number of at most 64 bits."""
    return _taken(what, "a whole number", whole_of, value)


def flag(value: Any, what: str) -> bool:
    return _taken(what, "True or False", _flag, value)


def ids(value: Any, what: str = "brokers") -> tuple[int, ...]:
    return _taken(what, "a list of ids", _ids, value)


def each(what: str, expected: str, take: Callable[[Any], T], values: Any) -> tuple[T, ...]:
    """What `take` makes of each value; it raises TypeError or ValueError for one that is not `expected`."""
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):  # whose letters are no names
        raise BadInput(f"{what}: expected a list of {expected}, got {values!r:.80}")
    return tuple(_taken(what, expected, take, one) for one in values)


def path_of(value: Any, what: str) -> str:
    """A path or a location, as text."""
    return _taken(what, "a path", _path, value)


def settings_or(value: Any, kind: type[T], what: str) -> T:
    """`value`, or where it is None the defaults."""
    return kind() if value is None else _taken(what, kind.__name__, partial(_of, kind), value)


def check_frames(tables: Mapping[str, Any]) -> None:
    """Raises BadInput unless all are DataFrames of Spark, where they are not all Arrow tables."""
    for name, table in tables.items():
        kind = type(table)
        if not kind.__module__.startswith("pyspark.sql."):
            expected = "expected Tables of pyarrow alone, or DataFrames of Spark alone"
            hint = "; pyarrow.Table.from_pandas makes a Table of one of pandas" * kind.__module__.startswith("pandas.")
            raise BadInput(f"{name}: {expected}, got {kind.__module__}.{kind.__name__}{hint}")


def _field(field: attrs.Attribute[Any], value: Any) -> Any:
    written = str(field.type)
    kind = written.removesuffix(" | None")
    if value is None and kind != written:
        return None
    return _taken(field.name.replace("_", " "), *_KINDS[kind], value)


def _taken(what: str, expected: str, take: Callable[[Any], T], value: Any) -> T:
    try:
        return take(value)
    except (TypeError, ValueError, OverflowError):
        raise BadInput(f"{what}: expected {expected}, got {value!r:.80}") from None


def whole_of(value: Any) -> int:
    number = index(value)
    if isinstance(value, bool) or abs(number) > _INT64_MAX:
        raise ValueError
    return number


def _number(value: Any) -> float:
    if isinstance(value, Integral):
        return whole_of(value)
    if not isinstance(value, Real) or isnan(value):
        raise ValueError
    return float(value)


def _flag(value: Any) -> bool:
    return bool(_of(bool | np.bool_, value))


def _path(value: Any) -> str:
    return str(_of(str, fspath(value)))


def _ids(value: Iterable[Any]) -> tuple[int, ...]:
    return tuple(map(whole_of, value))


def _names(value: Iterable[Any]) -> tuple[str, ...]:
    if isinstance(value, str):  # its letters are no names
        raise TypeError
    return tuple(_of(str, one) for one in value)


def _of(kind: Any, value: Any) -> Any:
    if not isinstance(value, kind):
        raise TypeError
    return value


_KINDS: Final[Mapping[str, tuple[str, Callable[[Any], Any]]]] = {
    "int": ("a whole number", whole_of),
    "float": ("a number", _number),
    "bool": ("True or False", _flag),
    "str": ("a text", partial(_of, str)),
    "datetime": ("a datetime", partial(_of, datetime)),
    "tuple[str, ...]": ("a list of names", _names),
}
