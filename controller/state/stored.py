"""The content of the store as the state knows it: loads before the first record of a term, and what a commit changes.
None of it is undone: a load has no batch, and an applied commit is final.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..model.reductions import Retirements
from ..model.values import Broker, ConfigEntity, Extra, TopicPartition
from .known import Known
from .reductions import Reduction
from .rows import Deletion


class Stored(Known):
    """The `load_` methods take over the content of keys, the `_written` methods follow a commit."""

    __slots__ = ()

    # --- loading

    def load_admitted(self, broker_id: int, epoch: int) -> None:
        self.admitted[broker_id] = epoch

    def load_broker(self, broker: Broker) -> bool:
        """Add a registration; return whether its broker is live: admitted under it, or never admitted."""
        is_live = self.admitted_epoch(broker.broker_id) in (None, broker.epoch)
        if is_live:
            self.brokers[broker.broker_id] = broker
        return is_live

    def load_unread_broker(self, broker_id: int, epoch: int) -> None:
        """Add an unreadable registration, unless it is a new one."""
        if self.admitted_epoch(broker_id) in (None, epoch):
            self.unread[broker_id] = epoch

    def load_dying(self, dead: Mapping[int, int]) -> None:
        self.dying.update(dead)

    def load_entity_config(self, entity: ConfigEntity, configs: Mapping[str, str]) -> None:
        self.entity_configs[entity] = configs

    def load_change_number(self, number: int) -> None:
        self.changes.next_number = number

    def load_reduction(self, topic: str, entries: Retirements, extra: Extra | None) -> None:
        self.reducing.of[topic] = Reduction(entries, extra)

    def load_problem(self, topic: str, partition: int | None, problem: str) -> None:
        """Record that a key cannot be read."""
        self.problems[topic, partition] = problem

    def start_deletion(self, name: str) -> None:
        """A topic is being deleted."""
        numbers = self.topics[name].numbers
        rows = map(self.rows.read_uncached, numbers)
        left = sum(row is not None and not row.is_stopped for row in rows)
        self.deletions[name] = Deletion(left, sum(self.versions.states[number] != 0 for number in numbers))

    # --- after a commit

    def relisted(self) -> list[TopicPartition]:
        """Partitions whose entry in the listing of moves changed since the last call."""
        found, self._relisted = list(self._relisted), {}
        return found

    def state_key_written(self, topic: str, number: int, version: int) -> None:
        versions = self.versions
        generation = -1 if not version else versions.generations[number] + 1 if versions.states[number] else 0
        self.put_state_version(topic, number, version, generation)
        if self.reducing.purged:
            self.reducing.purged.pop(number, None)

    def put_state_version(self, topic: str, number: int, version: int, generation: int) -> None:
        versions = self.versions
        before, versions.states[number] = versions.states[number], version
        versions.generations[number] = generation
        if self.deletions and topic in self.deletions and number not in self.reducing.purged:  # it does not count
            self.deletions[topic].keys_left += (version != 0) - (before != 0)

    def admission_written(self, broker_id: int) -> None:
        """A commit wrote the admission of a live broker."""
        self.admitted[broker_id] = self.brokers[broker_id].epoch

    def admission_deleted(self, broker_id: int) -> None:
        self.admitted.pop(broker_id, None)

    def deletion_written(self, topic: str) -> None:
        """A commit wrote or deleted the key that requests the deletion of a topic, which ends with the topic."""
        if topic not in self.topics:
            self.deletions.pop(topic, None)
