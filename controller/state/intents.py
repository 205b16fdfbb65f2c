"""Open delete intents, by broker, and the keys in which they are durable.

A key `/admin/replica_deletions/<broker>/<seq>` is written once, with all intents of one broker and one commit, and goes
when the last of them is closed (acknowledged or void). Which are closed is held in memory: sending one again after a
failover does no harm.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

import attrs

from controller.model.values import DeleteIntent

KeyId: TypeAlias = tuple[int, int]  # broker, seq
_Slot: TypeAlias = tuple[str, int]  # topic_id, partition


@attrs.define
class IntentKey:
    """Where a key of intents stands, and how many in it are open."""

    version: int
    open_count: int


class Intents:
    """Every open intent. `undurable` ones belong to the batch that is not committed yet; they have no key."""

    def __init__(self) -> None:
        self.keys: dict[KeyId, IntentKey] = {}
        self._open: dict[int, dict[_Slot, DeleteIntent]] = {}
        self._undurable: dict[int, dict[_Slot, DeleteIntent]] = {}
        self._seqs: dict[int, dict[_Slot, int]] = {}  # of the durable ones: under which seq
        self._of_topic: dict[str, int] = {}  # topic_id -> how many are open
        self._of_slot: dict[_Slot, int] = {}

    def __len__(self) -> int:
        return sum(map(len, self._open.values()))

    def brokers(self) -> list[int]:
        return sorted(broker for broker, slots in self._open.items() if slots)

    def of(self, broker: int) -> Sequence[DeleteIntent]:
        return tuple(self._open.get(broker, {}).values())

    def get(self, broker: int, topic_id: str, partition: int) -> DeleteIntent | None:
        slots = self._open.get(broker)
        return None if slots is None else slots.get((topic_id, partition))

    def seq_of(self, intent: DeleteIntent) -> int | None:
        """Under which seq an open intent is durable; None: not yet."""
        return self._seqs.get(intent.broker, {}).get((intent.topic_id, intent.partition))

    def count_of(self, topic_id: str) -> int:
        """How many of a topic are open."""
        return self._of_topic.get(topic_id, 0)

    def count_of_partition(self, topic_id: str, partition: int) -> int:
        """How many of a partition are open, whosoever they are."""
        return self._of_slot.get((topic_id, partition), 0)

    def load(self, broker: int, seq: int, version: int, intents: Iterable[DeleteIntent]) -> None:
        """Take in a key as it stands in the store. Of two intents for one replica the newer one (higher epoch)
        stands."""
        key = self.keys[broker, seq] = IntentKey(version, 0)
        slots, seqs = self._open.setdefault(broker, {}), self._seqs.setdefault(broker, {})
        for intent in intents:
            slot = (intent.topic_id, intent.partition)
            held = slots.get(slot)
            if held is not None and held.leader_epoch >= intent.leader_epoch:
                continue
            if held is None:
                self._count(slot, 1)
            elif slot in seqs:
                self.keys[broker, seqs[slot]].open_count -= 1
            slots[slot], seqs[slot] = intent, seq
            key.open_count += 1

    def finished_keys(self) -> list[KeyId]:
        """Keys in which nothing is open any more."""
        return [key_id for key_id, key in self.keys.items() if not key.open_count]

    def open(self, intent: DeleteIntent) -> None:
        slot = self._put(intent)
        self._undurable.setdefault(intent.broker, {})[slot] = intent

    def unopen(self, intent: DeleteIntent) -> None:
        """Undo `open`."""
        self._take(intent)

    def close(self, intent: DeleteIntent) -> tuple[int | None, KeyId | None]:
        """Under which seq the intent was durable (None: not yet), and the key that has nothing open any more by this
        (None: there is none such)."""
        seq = self._take(intent)
        if seq is None:
            return None, None
        key = self.keys[intent.broker, seq]
        key.open_count -= 1
        return seq, None if key.open_count else (intent.broker, seq)

    def reopen(self, intent: DeleteIntent, seq: int | None) -> None:
        """Undo `close`."""
        if seq is None:
            self.open(intent)
        else:
            self._seqs[intent.broker][self._put(intent)] = seq
            self.keys[intent.broker, seq].open_count += 1

    def undurable(self, broker: int) -> list[DeleteIntent]:
        """What the next key of `broker` must hold."""
        return list(self._undurable.get(broker, {}).values())

    def durable(self, broker: int, seq: int, version: int) -> None:
        """The undurable intents of `broker` were committed under `seq`."""
        fresh = self._undurable.pop(broker, {})
        if fresh:
            self._seqs.setdefault(broker, {}).update(dict.fromkeys(fresh, seq))
            self.keys[broker, seq] = IntentKey(version, len(fresh))

    def _put(self, intent: DeleteIntent) -> _Slot:
        slot = (intent.topic_id, intent.partition)
        self._open.setdefault(intent.broker, {})[slot] = intent
        self._count(slot, 1)
        return slot

    def _take(self, intent: DeleteIntent) -> int | None:
        slot = (intent.topic_id, intent.partition)
        del self._open[intent.broker][slot]
        self._count(slot, -1)
        seq = self._seqs.get(intent.broker, {}).pop(slot, None)
        if seq is None:
            del self._undurable[intent.broker][slot]
        return seq

    def _count(self, slot: _Slot, by: int) -> None:
        of_topic, of_slot = self._of_topic.get(slot[0], 0) + by, self._of_slot.get(slot, 0) + by
        self._of_topic[slot[0]], self._of_slot[slot] = of_topic, of_slot
        if not of_slot:
            del self._of_slot[slot]
            if not of_topic:
                del self._of_topic[slot[0]]
