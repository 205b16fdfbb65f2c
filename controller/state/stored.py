"""The content of the store as the state knows it: loads before the first record of a term, and versions after a commit.
None of it is undone: a load has no batch, and an applied commit is final.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..model.reductions import Retirements
from ..model.values import Broker, Extra, TopicPartition
from .intents import KeyId
from .known import Known
from .reductions import Reduction
from .rows import Admitted, Deletion, OwnConfigs


class Stored(Known):
    """The `load_` methods take over the content of keys, the `_stands` methods their version after a commit (0:
    absent)."""

    __slots__ = ()

    # --- loading

    def load_admitted(self, broker_id: int, version: int, epoch: int) -> None:
        self.admitted[broker_id] = Admitted(version, epoch)

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

    def load_broker_config(self, name: str, version: int, configs: Mapping[str, str]) -> None:
        self.broker_configs[name] = OwnConfigs(version, configs)

    def load_change_number(self, number: int) -> None:
        self.changes.next_number = number

    def load_reduction(self, topic: str, version: int, entries: Retirements, extra: Extra | None) -> None:
        self.reducing.of[topic] = Reduction(version, entries, extra)

    def load_migration(self, version: int) -> None:
        self.migration_version = version

    def load_problem(self, topic: str, partition: int | None, problem: str) -> None:
        """Record that a key cannot be read."""
        self.problems[topic, partition] = problem

    def start_deletion(self, name: str, version: int) -> None:
        """A topic is being deleted; `version`: of its key under /admin/delete_topics, 0: not written yet."""
        numbers = self.topics[name].numbers
        rows = map(self.rows.once, numbers)
        left = sum(row is not None and not row.is_stopped for row in rows)
        self.deletions[name] = Deletion(version, left, sum(self.versions[number] != 0 for number in numbers))

    # --- after a commit

    def relisted(self) -> list[TopicPartition]:
        """Partitions whose entry in the listing of moves changed since the last call."""
        found, self._relisted = list(self._relisted), {}
        return found

    def state_key_written(self, topic: str, number: int, version: int) -> None:
        """A commit left the state key with this number at `version`."""
        generation = -1 if not version else self.generations[number] + 1 if self.versions[number] else 0
        self.state_key_stands(topic, number, version, generation)
        if self.reducing.purged:
            self.reducing.purged.pop(number, None)

    def state_key_stands(self, topic: str, number: int, version: int, generation: int) -> None:
        """The state key with this number has this version and generation."""
        before, self.versions[number], self.generations[number] = self.versions[number], version, generation
        if self.deletions and topic in self.deletions and number not in self.reducing.purged:  # it does not count
            self.deletions[topic].keys_left += (version != 0) - (before != 0)

    def topic_key_stands(self, name: str, version: int) -> None:
        row = self.topics.get(name)
        if row is not None:
            row.generation = row.generation + 1 if row.version else 0
            row.version = version

    def config_stands(self, name: str, version: int) -> None:
        row = self.topics.get(name)
        if row is not None:
            row.config_version = version

    def broker_config_stands(self, name: str, version: int) -> None:
        self.broker_configs[name] = OwnConfigs(version, self.broker_config(name))

    def deletion_stands(self, name: str, version: int) -> None:
        self.refused.pop(name, None)
        if name in self.topics and name in self.deletions:
            self.deletions[name].version = version
        else:
            self.deletions.pop(name, None)

    def admission_stands(self, broker_id: int, version: int) -> None:
        if version:
            self.admitted[broker_id] = Admitted(version, self.brokers[broker_id].epoch)
        else:
            self.admitted.pop(broker_id, None)

    def intents_are_gone(self, key: KeyId) -> None:
        self.intents.keys.pop(key, None)

    def notification_is_gone(self, key: str) -> None:
        self.worked_off.pop(key)
