"""The legacy key `/admin/reassign_partitions` as values.

A client writes a plan while the key is absent. Once the controller has read the key, it owns the content: it removes an
entry when its move ends, and the key with the last entry. So the content of the key (`LegacyKey`) and the entries in
force (kept by the state) can differ for a while.
"""

from __future__ import annotations

from typing import TypeAlias

import attrs

from .values import Extra, Replicas

LegacyName: TypeAlias = tuple[str, int]
"""Topic and partition of an entry."""


@attrs.frozen
class LegacyEntry:
    """One move of a plan. `target` is what a client wrote; its ids are not checked."""

    topic: str
    partition: int
    target: Replicas
    extra: Extra | None = None

    @property
    def name(self) -> LegacyName:
        return self.topic, self.partition


@attrs.frozen
class LegacyKey:
    """The last known content of the key in the store. `problem`: why it cannot be read; it has no entries then.
    `format`: the `version` in its JSON. `is_there`: it exists."""

    entries: tuple[LegacyEntry, ...] = ()
    extra: Extra | None = None
    format: int = 1
    problem: str | None = None
    is_there: bool = True
    names: frozenset[LegacyName] = attrs.field(init=False, repr=False, eq=False)

    @names.default
    def _names(self) -> frozenset[LegacyName]:
        return frozenset(entry.name for entry in self.entries)


NO_KEY = LegacyKey(is_there=False)
