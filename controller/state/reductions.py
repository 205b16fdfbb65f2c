"""The partitions that reductions remove (KIP-694), the versions of their keys, and what this batch purged."""

from __future__ import annotations

import attrs

from ..model.reductions import Retirements
from ..model.values import Extra, Partition

_NONE: Retirements = {}


@attrs.define
class Reduction:
    """`version`: of the key, 0 before it is written. Without entries the key is deleted, or waits to be deleted with
    its topic."""

    version: int = 0
    entries: Retirements = attrs.field(factory=dict)
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

    def version(self, topic: str) -> int:
        found = self.of.get(topic)
        return 0 if found is None else found.version

    def known(self, topic: str) -> Reduction:
        """The reduction of a topic; an empty one if there is none."""
        return self.of.get(topic) or Reduction()

    def stands(self, topic: str, version: int) -> None:
        """A commit left the key at `version` (0: absent)."""
        found = self.of.get(topic)
        if found is None:
            return
        if found.entries and version:
            found.version = version
        else:
            del self.of[topic]
