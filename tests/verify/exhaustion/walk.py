"""From an object and all that hangs on it to a flat list of words that says the same wherever the meaning is the same.

Rules
* What is not named in the rules below counts, as it is: a field that was overlooked makes states differ that
  could be one (a larger graph), it never makes two states one.
* A *rank* is an epoch: only which of two is higher matters, so it is its place among all of its kind. -1 and 0 (none;
  created with) keep their places of their own.
* A *name* is something that is only compared for being the same (a session, a life): the how-manieth to be met.
* A *due time* is how many of the long waits of this world, the only ones that it has, must pass until then.
* Fields that are left out are wiring (references), text for people, times that are only written down, and what is
  derived from fields that count.
* An object that can be written is met once; the next time it is the number of that meeting. Frozen values are what they
  hold. The order of keys in a mapping and of members in a set does not count.
"""

from __future__ import annotations

import enum
import types
from array import array
from collections import deque
from collections.abc import Callable, Container, Iterable, Mapping
from concurrent.futures import Future
from functools import partial
from hashlib import blake2b
from typing import Any, ClassVar, Final, TypeAlias

import attrs

from kedge.controller.model.errors import NotController
from kedge.controller.model.host import Shared
from kedge.controller.runtime.replies import Reply

Tell: TypeAlias = Callable[[Any, Any], None]
_ANCHORS: Final = (-1, 0)
WAITS_MAX: Final = 1_000  # what is further away is not reached


@attrs.frozen
class _Plan:
    """How objects of a class are described: their fields, with the rule of each."""

    fields: tuple[tuple[str, Tell | None], ...]
    is_value: bool


class Walk:
    """One walk over one world. `now_ms`: monotonic; `wait_ms`: how long a wait is.

    A class below this one has the rules: `fields`, by name of a field or by (class, name), how its value is described;
    `kinds`, the same for all objects of a class, by its name. None: it is left out.
    """

    fields: ClassVar[Mapping[str | tuple[str, str], Tell | None]] = {}
    kinds: ClassVar[Mapping[str, Tell | None]] = {}
    plans: ClassVar[dict[tuple[type, int], _Plan]] = {}

    def __init__(self, now_ms: int, wait_ms: int) -> None:
        self.words: list[object] = []
        self.now_ms = now_ms
        self.wait_ms = wait_ms
        self.met: dict[int, int] = {}
        self._ranks: dict[str, list[tuple[int, int]]] = {}  # kind -> place among the words, value
        self._names: dict[tuple[str, object], int] = {}

    # --- how values are described

    def say(self, word: object) -> None:
        self.words.append(word)

    def rank(self, kind: str, value: int | None) -> None:
        if value is None:
            self.words.append(None)
            return
        self._ranks.setdefault(kind, []).append((len(self.words), value))
        self.words.append(None)

    def name(self, kind: str, value: object) -> None:
        found = None if value is None else self._names.setdefault((kind, value), len(self._names))
        self.words.append(found)

    def due(self, at_ms: float | None) -> None:
        """How many waits must pass until `at_ms`."""
        left = None if at_ms is None else max(0, -(-int(at_ms - self.now_ms) // self.wait_ms))
        self.words.append("never" if left is not None and left > WAITS_MAX else left)

    def thing(self, value: Any) -> None:
        """Anything at all."""
        kind = type(value)
        if value is None or kind in _PLAIN:
            self.words.append(value)
            return
        tell = _BY_TYPE.get(kind)
        if tell is not None:
            tell(self, value)
        elif kind.__name__ in self.kinds:
            rule = self.kinds[kind.__name__]
            if rule is not None:
                rule(self, value)
        else:
            self._other(kind, value)

    def _other(self, kind: type, value: Any) -> None:
        if isinstance(value, enum.Enum):
            self.words.append(value.name)
        elif isinstance(value, BaseException):
            self.words.append(kind.__name__)
            self.words.append(value.active_id if isinstance(value, NotController) else None)
        elif isinstance(value, Future | Reply):
            self._answer(value)
        elif isinstance(value, Mapping):
            self.mapping(value)
        elif isinstance(value, int | str | bytes):
            self.words.append(value)
        else:
            self.whole(value)

    def _answer(self, asked: Future[Any] | Reply[Any]) -> None:
        if self.has_met(asked):
            return
        self.words.append(asked.done())
        if asked.done():
            self.thing(asked.outcome if isinstance(asked, Reply) else asked.exception() or asked.result())

    def each(self, values: Iterable[Any]) -> None:
        self.words.append("[")
        for value in values:
            self.thing(value)
        self.words.append("]")

    def mapping(self, values: Mapping[Any, Any]) -> None:
        self.words.append("{")
        for key in sorted(values, key=_in_order):
            self.thing(key)
            self.thing(values[key])
        self.words.append("}")

    def has_met(self, value: object) -> bool:
        """Whether it was met before: then its number is all that is said."""
        met = self.met.get(id(value))
        if met is not None:
            self.words.append(f"#{met}")
            return True
        self.met[id(value)] = len(self.met)
        return False

    def whole(self, value: Any, *, but: Container[str] = ()) -> None:
        """The fields of an object, by their rules."""
        kind = type(value)
        of = (kind, len(getattr(value, "__dict__", ())))
        plan = self.plans.get(of)
        if plan is None:
            plan = self.plans[of] = self._plan(kind, value)
        if not plan.is_value and self.has_met(value):
            return
        self.words.append(kind.__name__)
        for name, tell in plan.fields:
            if tell is not None and name not in but:
                tell(self, getattr(value, name))

    def _plan(self, kind: type, value: object) -> _Plan:
        if attrs.has(kind):
            names = [field.name for field in attrs.fields(kind)]
        elif hasattr(value, "__dict__"):
            names = list(vars(value))
        else:
            names = [name for base in reversed(kind.__mro__) for name in getattr(base, "__slots__", ())]
        rules = {name: self.fields.get((kind.__name__, name), self.fields.get(name, Walk.thing)) for name in names}
        return _Plan(tuple(rules.items()), is_value(kind))

    # --- the end

    def digest(self) -> bytes:
        """A hash of all that was described."""
        for told in self._ranks.values():
            order = sorted({*_ANCHORS, *(value for _, value in told)})
            places = {value: place for place, value in enumerate(order)}
            for at, value in told:
                self.words[at] = places[value]
        return blake2b(repr(self.words).encode(), digest_size=16).digest()


def is_value(kind: type) -> bool:
    """Whether objects of `kind` are frozen values, compared by what they hold: then one stands for all its equals."""
    if not attrs.has(kind) or kind.__hash__ is None or kind.__hash__ is object.__hash__:
        return False
    return kind.__setattr__ is not object.__setattr__ and kind.__eq__ is not object.__eq__


def _in_order(key: Any) -> tuple[str, Any]:
    if isinstance(key, int | str | tuple):
        return type(key).__name__, key
    return type(key).__name__, repr(key)


def _set(walk: Walk, values: Iterable[Any]) -> None:
    walk.each(sorted(values, key=_in_order))


def _function(walk: Walk, made: Any) -> None:
    walk.say(made.__qualname__)


def _partial(walk: Walk, made: partial[Any]) -> None:
    walk.say(made.func.__qualname__)
    walk.each(made.args)


_PLAIN: Final = frozenset({int, str, bool, bytes, float})
_BY_TYPE: Final[dict[type, Tell]] = {
    tuple: Walk.each,
    Shared: Walk.each,
    list: Walk.each,
    deque: Walk.each,
    array: Walk.each,
    dict: Walk.mapping,
    set: _set,
    frozenset: _set,
    partial: _partial,
    types.FunctionType: _function,
    types.MethodType: _function,
}
