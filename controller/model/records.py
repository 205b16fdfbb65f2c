"""The root of all records, which are in `kedge.controller.records`, and versions of keys.

A record says what changed. It is a small immutable value, named in the past tense; the journal uses the same names. All
that depends on the kind of a record is a method of it: how it changes the state, which keys it makes dirty, its lines
in the journal, and what is published of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, Self

import attrs


@attrs.define
class Record:
    """Root of all records. `EVENTS`: the events of its lines in the journal; empty for bookkeeping of the loop."""

    EVENTS: ClassVar[tuple[str, ...]] = ()

    def apply(self, state: Any) -> Any:
        """Change the state by methods of its batch, which make the change undoable. Returns a token: what `dirty` and
        `publish` need besides the record."""

    def dirty(self, state: Any, token: Any) -> Sequence[tuple[str, object]]:  # noqa: ARG002
        """The dirty keys, computed after `apply`."""
        return ()

    def lines(self, context: Any) -> Iterable[str]:  # noqa: ARG002
        """The lines in the journal, each as text from `"event"` on."""
        return ()

    def publish(self, to: Any, token: Any) -> None:
        """Make the committed change known to brokers, the host and the parts that read keys again."""


@attrs.frozen
class KeyAt:
    """The path of a key that was read, and its version (0: it is absent)."""

    path: str
    version: int


@attrs.frozen
class KeyVersion:
    """The version of a state key (0: it is absent), and its generation: the partition epoch."""

    version: int
    generation: int


@attrs.frozen
class KeyVersions:
    """The versions of the state keys of a topic, as two columns. An absent key has version 0 and generation -1."""

    versions: Sequence[int]
    generations: Sequence[int]

    @classmethod
    def of(cls, states: Sequence[KeyVersion]) -> Self:
        """From one KeyVersion per state key."""
        return cls(tuple(at.version for at in states), tuple(at.generation for at in states))
