"""Copies of a whole world: its bytes are taken once, and every copy made of them goes on by itself.

Rules
* What is never written stays one: classes, modules, code, settings, frozen values that can be hashed. So do sources of
  chance, since nothing that they give is looked at but for being different (nonces), and the timeline and what is
  measured, which are for people. All else is copied, with its references among each other as they were.
* No thread holds a lock when a copy is taken (one thread drives it all): a lock is copied as a new one. Functions that
  were made inside others are copied with what they hold.
* Pickle's own machinery does it at the speed of C; what is in the bytes never leaves this process.
"""

from __future__ import annotations

import io
import logging
import pickle
import random
import threading
import types
from typing import Any, Final

from kedge.controller.runtime.measures import Measures
from kedge.controller.simulated.timeline import Timeline
from tests.verify.exhaustion.walk import is_value

_SHARED: Final[list[object]] = []
_PLACES: Final[dict[object, int]] = {}  # hashable values and, by identity, the rest -> place in _SHARED
_LOCK: Final = type(threading.Lock())
_RLOCK: Final = type(threading.RLock())
_ONE_FOR_ALL: Final = (random.Random, Timeline, Measures, logging.Logger, types.ModuleType, types.CodeType)


def _shared(place: int) -> object:
    return _SHARED[place]


def _share(key: object, value: object) -> tuple[Any, ...]:
    place = _PLACES.get(key)
    if place is None:
        place = _PLACES[key] = len(_SHARED)
        _SHARED.append(value)
    return _shared, (place,)


def _lock() -> object:
    return threading.Lock()


def _rlock() -> object:
    return threading.RLock()


def _cell() -> types.CellType:
    return types.CellType()


def _fill_cell(cell: types.CellType, held: tuple[object, ...]) -> None:
    if held:
        cell.cell_contents = held[0]


def _held(cell: types.CellType) -> tuple[object, ...]:
    try:
        return (cell.cell_contents,)
    except ValueError:
        return ()


def _function(place: int, name: str, defaults: Any, closure: Any) -> types.FunctionType:
    made = _SHARED[place]
    assert isinstance(made, types.FunctionType)
    return types.FunctionType(made.__code__, made.__globals__, name, defaults, closure)


_VALUES: Final[dict[type, bool]] = {}


class _Pickler(pickle.Pickler):
    def reducer_override(self, obj: Any) -> Any:
        kind = type(obj)
        if isinstance(obj, _ONE_FOR_ALL):
            return _share(("is", id(obj)), obj)
        if kind is types.FunctionType:
            return self._function(obj)
        if kind is types.CellType:
            return _cell, (), _held(obj), None, None, _fill_cell
        if kind is _LOCK:
            return _lock, ()
        if kind is _RLOCK:
            return _rlock, ()
        if kind is threading.Condition:
            return threading.Condition, (obj._lock,)  # noqa: SLF001 - no thread waits, so the lock is all there is
        known = _VALUES.get(kind)
        if known is None:
            known = _VALUES[kind] = is_value(kind)
        if known:
            try:
                return _share((kind, obj), obj)
            except TypeError:
                pass  # it holds what can be written
        return NotImplemented

    def _function(self, made: types.FunctionType) -> Any:
        if "<" not in made.__qualname__:
            return NotImplemented  # found by its name
        if made.__closure__ is None:
            return _share(("is", id(made)), made)
        # Its cells belong to one world; its code is that of all its copies.
        pattern = _share(("is", id(made.__code__)), made)[1][0]
        return _function, (pattern, made.__name__, made.__defaults__, made.__closure__)


def freeze(world: object) -> bytes:
    """`world` as bytes, from which `thaw` makes as many copies as are asked for."""
    out = io.BytesIO()
    _Pickler(out, protocol=5).dump(world)
    return out.getvalue()


def thaw(taken: bytes) -> Any:
    """A copy of what `freeze` took."""
    return pickle.loads(taken)  # noqa: S301 - see the head
