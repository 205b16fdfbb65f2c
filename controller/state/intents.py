"""Open delete intents, by broker, and the keys that hold them.

A key `/admin/replica_deletions/<broker>/<seq>` is written once, with all intents of one broker and one commit, and
deleted when the last of them is closed (acknowledged or void). Which are closed is kept in memory: after a failover an
intent may be sent again, which is harmless.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias, TypeVar

from ..model.values import DeleteIntent

KeyId: TypeAlias = tuple[int, int]  # broker, seq
Slot: TypeAlias = tuple[str, int]  # topic_id, partition
T = TypeVar("T")


class Intents:
    """All open intents. `undurable` ones belong to the batch that is not committed yet; they have no key."""

    def __init__(self) -> None:
        self.keys: dict[KeyId, int] = {}  # how many intents of each are open
        self._open = defaultdict[int, dict[Slot, DeleteIntent]](dict)
        self._undurable = defaultdict[int, dict[Slot, DeleteIntent]](dict)
        self._seqs = defaultdict[int, dict[Slot, int]](dict)  # of the durable ones: the seq of their key
        self._of_topic: dict[str, int] = {}  # topic_id -> number of open ones
        self._of_slot: dict[Slot, int] = {}

    def __len__(self) -> int:
        return sum(map(len, self._open.values()))

    def brokers(self) -> list[int]:
        return sorted(broker for broker, slots in self._open.items() if slots)

    def of(self, broker: int) -> Sequence[DeleteIntent]:
        return tuple(self._open.get(broker, {}).values())

    def get(self, broker: int, topic_id: str, partition: int) -> DeleteIntent | None:
        slots = self._open.get(broker)
        return None if slots is None else slots.get((topic_id, partition))

    def by_replica(self, broker: int) -> Mapping[Slot, DeleteIntent]:
        """Those of a broker, by topic id and partition; read-only."""
        return self._open.get(broker, {})

    def seq_of(self, intent: DeleteIntent) -> int | None:
        """The seq of an open intent's key; None: not durable yet."""
        return self._seqs.get(intent.broker, {}).get((intent.topic_id, intent.partition))

    def count_of(self, topic_id: str) -> int:
        return self._of_topic.get(topic_id, 0)

    def count_of_partition(self, topic_id: str, partition: int) -> int:
        """How many intents of a partition are open, for any broker."""
        return self._of_slot.get((topic_id, partition), 0)

    def load(self, broker: int, seq: int, intents: Iterable[DeleteIntent]) -> None:
        """Add a key from the store. Of two intents for one replica, the newer one (higher epoch) counts."""
        self.keys[broker, seq] = 0
        slots, seqs = self._open[broker], self._seqs[broker]
        for intent in intents:
            slot = (intent.topic_id, intent.partition)
            held = slots.get(slot)
            if held is not None and held.leader_epoch >= intent.leader_epoch:
                continue
            if held is None:
                self._one_more(slot)
            elif slot in seqs:
                self.keys[broker, seqs[slot]] -= 1
            slots[slot], seqs[slot] = intent, seq
            self.keys[broker, seq] += 1

    def finished_keys(self) -> list[KeyId]:
        """Keys without an open intent."""
        return [key_id for key_id, count in self.keys.items() if not count]

    def open(self, intent: DeleteIntent) -> None:
        slot, broker = (intent.topic_id, intent.partition), intent.broker
        self._open[broker][slot] = self._undurable[broker][slot] = intent
        self._one_more(slot)

    def close(self, intent: DeleteIntent) -> tuple[int | None, KeyId | None]:
        """Close the intent; return the seq of its key (None: not durable yet), and the key if it has no open intent any
        more (otherwise None)."""
        slot, broker = (intent.topic_id, intent.partition), intent.broker
        _take(self._open, broker, slot)
        self._one_less(slot)
        if slot not in self._seqs.get(broker, ()):
            _take(self._undurable, broker, slot)
            return None, None
        seq = _take(self._seqs, broker, slot)
        self.keys[broker, seq] -= 1
        return seq, None if self.keys[broker, seq] else (broker, seq)

    def reopen(self, intent: DeleteIntent, seq: int | None) -> None:
        """Undo `close`."""
        if seq is None:
            self.open(intent)
        else:
            slot, broker = (intent.topic_id, intent.partition), intent.broker
            self._open[broker][slot] = intent
            self._one_more(slot)
            self._seqs[broker][slot] = seq
            self.keys[broker, seq] += 1

    def undurable(self, broker: int) -> list[DeleteIntent]:
        """The intents that the next key of `broker` must hold."""
        return list(self._undurable.get(broker, {}).values())

    def durable(self, broker: int, seq: int) -> None:
        """The undurable intents of `broker` were committed under `seq`."""
        fresh = self._undurable.pop(broker, {})
        if fresh:
            self._seqs[broker].update(dict.fromkeys(fresh, seq))
            self.keys[broker, seq] = len(fresh)

    def key_is_gone(self, key: KeyId) -> None:
        """A commit deleted the key, unless another program did before."""
        self.keys.pop(key, None)

    def _one_more(self, slot: Slot) -> None:
        self._of_slot[slot] = self._of_slot.get(slot, 0) + 1
        self._of_topic[slot[0]] = self._of_topic.get(slot[0], 0) + 1

    def _one_less(self, slot: Slot) -> None:
        left = self._of_slot[slot] - 1
        if left:
            self._of_slot[slot] = left
        else:
            del self._of_slot[slot]
        self._of_topic[slot[0]] -= 1
        if not (left or self._of_topic[slot[0]]):
            del self._of_topic[slot[0]]


def _take(of: dict[int, dict[Slot, T]], broker: int, slot: Slot) -> T:
    """Remove the entry, and the broker with its last one: brokers come and go."""
    slots = of[broker]
    value = slots.pop(slot)
    if not slots:
        del of[broker]
    return value
