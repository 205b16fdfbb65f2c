"""A batch: the records since the last commit, which can be undone, and the keys that they make dirty.

A dirty key is named by its content, not by its path: `("state", number)`, `("topic", name)`, `("config", name)`,
`("entity config", entity)` (of a broker, a user or a client id), `("change", entity)` (the notification of a changed
config), `("old change", key)` (one to be deleted), `("admitted", broker)`, `("forgotten", broker)`,
`("unregistered", broker)` (only checked to be absent), `("intents", broker)` (its new intents),
`("intents done", (broker, seq))`, `("deletion", topic)` (for a new topic: checked to be absent),
`("parent", (topic, partition or None))` (a node without data, in stores that have them), `("reduction", topic)`,
`("throttles", slot)` (a mark of throttles to be removed), `("notification", key)` (one to be deleted), `LEGACY`. Each
is encoded once, from the state, however many records changed it.

The code that applies a record changes the state by methods of the batch, which push the inverse of each change, or
pushes the inverse itself (`undone_by`). So there is no separate function to undo a record, which could be forgotten
(docs/decisions/0099).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias, TypeVar

from ..model.records import Record

DirtyKey: TypeAlias = tuple[str, object]

LEGACY: Final[DirtyKey] = ("legacy", "key")
K = TypeVar("K")
V = TypeVar("V")


class Batch:
    """Records in the order in which they were applied, each with its token (what is needed besides the record for its
    dirty keys and for publishing) and the dirty keys that it named first. Only `apply_all` adds to it."""

    __slots__ = ("_inverses", "dirty_keys", "late_topics", "log")

    def __init__(self) -> None:
        self.log: list[tuple[Record, object, tuple[DirtyKey, ...]]] = []
        self.dirty_keys: dict[DirtyKey, None] = {}
        self.late_topics: dict[str, int] = {}  # topics whose key may be written later -> how many rows it lacks
        self._inverses: list[tuple[int, Callable[..., object], tuple[Any, ...]]] = []  # with the index of the record

    def __len__(self) -> int:
        return len(self.log)

    # --- changes that are undone together with the record that is being applied

    def put(self, of: dict[K, V], key: K, value: V) -> None:
        """`of[key] = value`."""
        if key in of:
            self.undone_by(of.__setitem__, key, of[key])
        else:
            self.undone_by(of.__delitem__, key)
        of[key] = value

    def take(self, of: dict[K, V], key: K) -> V:
        """Remove an existing key and return its value."""
        value = of.pop(key)
        self.undone_by(of.__setitem__, key, value)
        return value

    def add(self, of: set[K], item: K) -> None:
        if item not in of:
            of.add(item)
            self.undone_by(of.remove, item)

    def discard(self, of: set[K], item: K) -> None:
        if item in of:
            of.remove(item)
            self.undone_by(of.add, item)

    def set(self, of: object, name: str, value: object) -> None:
        """`of.name = value`."""
        self.keep(of, name)
        setattr(of, name, value)

    def keep(self, of: object, *names: str) -> None:
        """Restore these attributes, which are about to change, on undo."""
        for name in names:
            self.undone_by(setattr, of, name, getattr(of, name))

    def undone_by(self, do: Callable[..., object], *arguments: object) -> None:
        """Push the call that reverts the latest change."""
        self._inverses.append((len(self.log), do, arguments))

    def grew(self, topic: str) -> None:
        """R of one more row of `topic` has grown."""
        self.late_topics[topic] = self.late_topics.get(topic, 0) + 1
        self.undone_by(_grew_less, self.late_topics, topic)

    # --- undoing

    def take_back(self) -> None:
        """Remove the last record with its changes, and the dirty keys that only it named."""
        _, _, fresh = self.log.pop()
        for dirty_key in fresh:
            del self.dirty_keys[dirty_key]
        self.take_back_rest()

    def take_back_rest(self) -> None:
        """Revert the changes of records that are not in the batch: removed ones, or one that failed to apply."""
        while self._inverses and self._inverses[-1][0] >= len(self.log):
            _, do, arguments = self._inverses.pop()
            do(*arguments)


def _grew_less(late_topics: dict[str, int], topic: str) -> None:
    """Not a method: a batch that refers to itself is freed late, by the garbage collector."""
    late_topics[topic] -= 1
    if not late_topics[topic]:
        del late_topics[topic]
