"""Values that nobody changes, made by the ten thousand: `sealed` for those that cross the API, `frozen` for others.

A frozen class of attrs stores each field by a call, some 80 ns each, where a plain one takes 10: of what a move costs
that was a sixth. So a sealed value is an instance of an open class while it is filled, and of one that refuses to be
written to from then on: 200 ns, however many fields it has. A frozen one is not guarded at run time at all, unless
Python is in its development mode (`python -X dev`). The type checker looks at both. A mapping in a sealed value is a
`FrozenDict`.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeVar

import attrs

__all__ = ["NOTHING", "FrozenDict", "frozen", "frozen_dict", "sealed"]

if TYPE_CHECKING:
    from attrs import frozen  # with all that the type checker knows of it
    from attrs import frozen as sealed
else:

    def frozen(cls: type[Any] | None = None, /, *, order: bool = False) -> Any:
        """The class with slots, equality, hash and `__init__` as `attrs.frozen` makes them, without weak references."""
        if cls is None:
            return partial(frozen, order=order)
        if sys.flags.dev_mode:
            return attrs.frozen(cls, order=order, weakref_slot=False)
        return _open(cls, order=order)

    def sealed(cls: type[Any] | None = None, /, *, order: bool = False) -> Any:
        """As `frozen`; whoever writes to an instance gets attrs' FrozenInstanceError, an AttributeError, always."""
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
    """A dict, for JSON and pickle as well, that refuses to be changed: TypeError."""

    def __reduce__(self) -> tuple[object, ...]:
        return FrozenDict, (dict(self),)

    def _unchanged(self, *_: object, **__: object) -> NoReturn:
        raise TypeError("this mapping belongs to a frozen value: make a dict of it to change that")


for _change in ("__setitem__", "__delitem__", "__ior__", "clear", "pop", "popitem", "setdefault", "update"):
    setattr(FrozenDict, _change, FrozenDict._unchanged)  # noqa: SLF001 - of the class above


def frozen_dict(value: Mapping[K, V]) -> Mapping[K, V]:
    """A frozen copy. What is no mapping stays what it is: whoever looks at it says so."""
    return FrozenDict(value) if isinstance(value, Mapping) else value


NOTHING: Final[FrozenDict[Any, Any]] = FrozenDict()

_set: Final = object.__setattr__


def _open(cls: type[Any], *, order: bool) -> type[Any]:
    return attrs.define(cls, order=order, weakref_slot=False, unsafe_hash=True, on_setattr=attrs.setters.NO_OP)


def _refuse(*_: object) -> NoReturn:
    raise attrs.exceptions.FrozenInstanceError
