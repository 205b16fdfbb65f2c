"""Decorators for immutable values that are made in large numbers: `sealed` for those of the API, `frozen` for others.

A frozen class of attrs sets each field by a call of some 80 ns instead of 10 ns, a sixth of the cost of a move. So an
instance of a sealed class is filled while it has an open class, then gets a class that refuses changes: 200 ns,
however many fields it has. A `frozen` value is guarded only in Python's development mode (`python -X dev`). Type
checkers see both as frozen. A mapping in a sealed value is a `FrozenDict`.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeVar

import attrs

__all__ = ["NOTHING", "FrozenDict", "frozen", "frozen_dict", "sealed"]

if TYPE_CHECKING:
    from attrs import frozen  # type checkers know what attrs does
    from attrs import frozen as sealed
else:

    def frozen(cls: type[Any] | None = None, /, *, order: bool = False) -> Any:
        """The class with slots, equality, hash and `__init__` as `attrs.frozen` makes it, without weak references."""
        if cls is None:
            return partial(frozen, order=order)
        if sys.flags.dev_mode:
            return attrs.frozen(cls, order=order, weakref_slot=False)
        return _open(cls, order=order)

    def sealed(cls: type[Any] | None = None, /, *, order: bool = False) -> Any:
        """As `frozen`; writing to an instance always raises attrs' FrozenInstanceError, an AttributeError."""
        if cls is None:
            return partial(sealed, order=order)
        check = cls.__dict__.get("__attrs_post_init__")

        def begin(value: Any) -> None:
            _set(value, "__class__", opened)

        def end(value: Any) -> None:
            if check is not None:
                check(value)
            value.__class__ = closed

        cls.__attrs_pre_init__, cls.__attrs_post_init__ = begin, end
        opened = _open(cls, order=order)
        named = {name: getattr(opened, name) for name in ("__doc__", "__module__", "__qualname__")}
        refusing = {"__slots__": (), "__setattr__": _refuse, "__delattr__": _refuse}
        closed = type(opened.__name__, (opened,), named | refusing)
        return closed


K = TypeVar("K")
V = TypeVar("V")


class FrozenDict(dict[K, V]):
    """A dict that cannot be changed (TypeError); usable with JSON and pickle."""

    def __reduce__(self) -> tuple[object, ...]:
        return FrozenDict, (dict(self),)

    def _unchanged(self, *_: object, **__: object) -> NoReturn:
        raise TypeError("a frozen value's mapping cannot be changed: make a dict of it")


for _change in ("__setitem__", "__delitem__", "__ior__", "clear", "pop", "popitem", "setdefault", "update"):
    setattr(FrozenDict, _change, FrozenDict._unchanged)  # noqa: SLF001 - defined above


def frozen_dict(value: Mapping[K, V]) -> Mapping[K, V]:
    """A frozen copy of a mapping. Any other value is returned unchanged; its validator refuses it."""
    return FrozenDict(value) if isinstance(value, Mapping) else value


NOTHING: Final[FrozenDict[Any, Any]] = FrozenDict()

_set: Final = object.__setattr__


def _open(cls: type[Any], *, order: bool) -> type[Any]:
    return attrs.define(cls, order=order, weakref_slot=False, unsafe_hash=True, on_setattr=attrs.setters.NO_OP)


def _refuse(*_: object) -> NoReturn:
    raise attrs.exceptions.FrozenInstanceError
