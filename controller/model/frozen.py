"""`frozen`: values that nobody changes, made by the ten thousand.

A frozen class of attrs stores each field by a call, some 80 ns each, where a plain one takes 10: of what a move costs
that was a sixth. So nothing looks at run time whether somebody writes to such a value, unless Python is in its
development mode (`python -X dev`), which is for checks that are too dear otherwise. The type checker always does.
"""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING, Any

import attrs

if TYPE_CHECKING:
    from attrs import frozen as frozen  # noqa: PLC0414 - with all that the type checker knows of it
else:

    def frozen(cls: type[Any] | None = None, /, *, order: bool = False) -> Any:
        """The class with slots, equality, hash and `__init__` as `attrs.frozen` makes them, without weak references."""
        if cls is None:
            return partial(frozen, order=order)
        if sys.flags.dev_mode:
            return attrs.frozen(cls, order=order, weakref_slot=False)
        return attrs.define(cls, order=order, weakref_slot=False, unsafe_hash=True, on_setattr=attrs.setters.NO_OP)
