"""The partitions that reductions remove (KIP-694), and what this batch purged."""

from __future__ import annotations

import attrs

from ..model.reductions import Retirements
from ..model.values import Extra, Partition

_NONE: Retirements = {}


@attrs.define
class Reduction:
    """What the key of a topic holds, or will hold; `extra`: its unknown fields. Without entries the key is deleted
    together with its topic."""

    entries: Retirements
    extra: Extra | None = None


class Reductions:
    """The reductions by topic. `purged`: partitions that this batch removed from the state, by number, until their keys
    are removed."""

    def __init__(self) -> None:
        self.of: dict[str, Reduction] = {}
        self.purged: dict[int, Partition] = {}

    def entries(self, topic: str) -> Retirements:
        found = self.of.get(topic)
        return _NONE if found is None else found.entries
