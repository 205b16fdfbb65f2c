"""A batch: what was decided since the last commit, so that it can be undone, and which keys that makes dirty.

A mark names a dirty key by what it holds, not by its path: `("state", number)`, `("topic", name)`, `("config", name)`,
`("broker config", name)`, `("change", entity)` (a change of settings that is told of), `("old change", key)`,
`("admitted", broker)`, `("forgotten", broker)`, `("unregistered", broker)` (nothing is written: it is held to have no
registration), `("intents", broker)` (its new intents), `("intents done", (broker, seq))`, `("deletion", topic)` (of a
new topic: held to be absent), `("parent", (topic, partition or None))` (a node without data, where the store needs
such), `("reduction", topic)` (which partitions of it go), `("throttles", slot)` (which throttles are to go),
`("errand", key)` (an errand that goes), `LEGACY`,
`("migration", version)` (its marker goes). Each is encoded once, from the
state, however many records set it.
"""

from __future__ import annotations

from typing import Final, TypeAlias

from controller.model.records import Record, ReplicasGrown

Mark: TypeAlias = tuple[str, object]

LEGACY: Final[Mark] = ("legacy", "key")


class Batch:
    """Records in the order in which they were applied, each with what its undoing needs and the marks that it set
    first. `apply_all` alone adds to it."""

    __slots__ = ("late_topics", "log", "marks")

    def __init__(self) -> None:
        self.log: list[tuple[Record, object, tuple[Mark, ...]]] = []
        self.marks: dict[Mark, None] = {}
        self.late_topics: dict[str, int] = {}  # whose key is behind, by how many rows, and may be written later

    def __len__(self) -> int:
        return len(self.log)

    def take_back(self) -> tuple[Record, object]:
        """The last record and its token, out of the batch with the marks that only it set."""
        record, token, fresh = self.log.pop()
        for mark in fresh:
            del self.marks[mark]
        if type(record) is ReplicasGrown:
            self.grew(record.after.topic, -1)
        return record, token

    def grew(self, topic: str, by: int) -> None:
        """R of so many rows of `topic` grew."""
        rows = self.late_topics.get(topic, 0) + by
        if rows:
            self.late_topics[topic] = rows
        else:
            del self.late_topics[topic]
