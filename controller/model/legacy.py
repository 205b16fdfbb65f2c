"""The legacy key `/admin/reassign_partitions` as values.

A client writes a plan when the key is absent. Once the controller has read it the controller owns the content: entries
leave it when their moves end, and the key goes with the last. So two things are told apart: what stands in the store
(`LegacyKey`), and which of its entries are in force (the state's).
"""

from __future__ import annotations

from typing import TypeAlias

import attrs

from controller.model.frozen import frozen
from controller.model.values import Extra, Replicas

LegacyName: TypeAlias = tuple[str, int]
"""Topic and partition of an entry."""


@frozen
class LegacyEntry:
    """One move that a plan asks for. `target` is as somebody wrote it: no id of it was checked."""

    topic: str
    partition: int
    target: Replicas
    extra: Extra | None = None

    @property
    def name(self) -> LegacyName:
        return self.topic, self.partition


@frozen
class LegacyKey:
    """The key as it stands in the store, as far as it is known. `version` 0: it is absent. `problem`: why it cannot be
    read; then it has no entries. `format`: the `version` that its JSON says."""

    version: int = 0
    entries: tuple[LegacyEntry, ...] = ()
    extra: Extra | None = None
    format: int = 1
    problem: str | None = None
    names: frozenset[LegacyName] = attrs.field(init=False, repr=False, eq=False)

    @names.default
    def _names(self) -> frozenset[LegacyName]:
        return frozenset(entry.name for entry in self.entries)


NO_KEY = LegacyKey()
