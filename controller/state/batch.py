"""A batch: what was decided since the last commit, so that it can be undone, and which keys that makes dirty.

A dirty key is named by what it holds, not by its path: `("state", number)`, `("topic", name)`, `("config", name)`,
`("broker config", name)`, `("change", entity)` (a change of configs that is told of), `("old change", key)`,
`("admitted", broker)`, `("forgotten", broker)`, `("unregistered", broker)` (nothing is written: it is held to have no
registration), `("intents", broker)` (its new intents), `("intents done", (broker, seq))`, `("deletion", topic)` (of a
new topic: held to be absent), `("parent", (topic, partition or None))` (a node without data, where the store needs
such), `("reduction", topic)` (which partitions of it go), `("throttles", slot)` (which throttles are to go),
`("notification", key)` (one that goes), `LEGACY`, `("migration", version)` (its marker goes). Each is encoded once,
from the state, however many records touched it.

The code that applies a record changes the state by methods of the batch, which push the inverse of each change, or
pushes the inverse itself (`undone_by`). So there is no function to undo a record, which could be forgotten
(docs/decisions/0099).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias, TypeVar

from controller.model.records import Record

DirtyKey: TypeAlias = tuple[str, object]

LEGACY: Final[DirtyKey] = ("legacy", "key")
K = TypeVar("K")
V = TypeVar("V")


class Batch:
    """Records in the order in which they were applied, each with its token (what naming its keys and publishing need
    besides the record) and the dirty keys that it named first. Only `apply_all` adds to it."""

    __slots__ = ("_inverses", "dirty_keys", "late_topics", "log")

    def __init__(self) -> None:
        self.log: list[tuple[Record, object, tuple[DirtyKey, ...]]] = []
        self.dirty_keys: dict[DirtyKey, None] = {}
        self.late_topics: dict[str, int] = {}  # whose key is behind, by how many rows, and may be written later
        self._inverses: list[tuple[int, Callable[..., object], tuple[Any, ...]]] = []  # of the record with that index

    def __len__(self) -> int:
        return len(self.log)

    # --- changes that are undone with the record that is being applied

    def put(self, of: dict[K, V], key: K, value: V) -> None:
        """`of[key] = value`."""
        if key in of:
            self.undone_by(of.__setitem__, key, of[key])
        else:
            self.undone_by(of.__delitem__, key)
        of[key] = value

    def take(self, of: dict[K, V], key: K) -> V:
        """What stood under `key`, which is there, and is not any more."""
        value = of.pop(key)
        self.undone_by(of.__setitem__, key, value)
        return value

    def add(self, of: set[K], item: K) -> None:
        """`item` is in the set."""
        if item not in of:
            of.add(item)
            self.undone_by(of.remove, item)

    def discard(self, of: set[K], item: K) -> None:
        """`item` is not in the set."""
        if item in of:
            of.remove(item)
            self.undone_by(of.add, item)

    def set(self, of: object, name: str, value: object) -> None:
        """`of.name = value`."""
        self.keep(of, name)
        setattr(of, name, value)

    def keep(self, of: object, *names: str) -> None:
        """These attributes are about to change."""
        for name in names:
            self.undone_by(setattr, of, name, getattr(of, name))

    def undone_by(self, do: Callable[..., object], *arguments: object) -> None:
        """Push the call that reverts what was just changed."""
        self._inverses.append((len(self.log), do, arguments))

    def grew(self, topic: str) -> None:
        """R of one more row of `topic` grew."""
        self.late_topics[topic] = self.late_topics.get(topic, 0) + 1
        self.undone_by(_grew_less, self.late_topics, topic)

    # --- undoing

    def take_back(self) -> tuple[Record, object]:
        """The last record and its token, out of the batch with the dirty keys that only it named and its changes."""
        record, token, fresh = self.log.pop()
        for dirty_key in fresh:
            del self.dirty_keys[dirty_key]
        self.take_back_rest()
        return record, token

    def take_back_rest(self) -> None:
        """Revert the changes of records that are not in the batch: taken out, or failed while they were applied."""
        while self._inverses and self._inverses[-1][0] >= len(self.log):
            _, do, arguments = self._inverses.pop()
            do(*arguments)


def _grew_less(late_topics: dict[str, int], topic: str) -> None:
    """Not a method of the batch: a batch that refers to itself is freed by the garbage collector only, late."""
    late_topics[topic] -= 1
    if not late_topics[topic]:
        del late_topics[topic]
