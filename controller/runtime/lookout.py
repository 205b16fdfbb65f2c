"""Hints -> reads -> events. A hint says "look again at this key"; what is found there is a new event for the machine.

Brokers are level-triggered: what is registered is compared with what is live, and the difference is a death or a
birth. A birth waits until nothing of the death before it is left to do. A topic's key is looked at by version first:
our own writes are hinted, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import attrs

from controller.codec import BadValue, keys, partition_state, small
from controller.codec import topic as topic_codec
from controller.codec.names import NO_TOPIC, is_topic
from controller.codec.text import parse
from controller.model.events import (
    BrokerCame,
    BrokerGone,
    BrokerRedescribed,
    DeletionKeyRead,
    Event,
    StateKeyRead,
    TopicKeyRead,
)
from controller.model.records import KeyVersion, KeyVersions
from controller.model.values import Partition, TopicPartition, without_state
from controller.rules.progress import kafka_moves
from controller.runtime.config_watch import ConfigWatch
from controller.runtime.errands import Errands
from controller.runtime.legacy import LegacyWatch
from controller.runtime.loader import Loaded, read_children, read_registrations
from controller.runtime.services import Services
from controller.state import ClusterState
from controller.state.rows import ABSENT
from stores.base import Changed, Entry, Resync, StoreEvent
from stores.recipes import TOKEN_KEY

RECHECK_MS: Final = 5_000  # how often a key that cannot be read is read again
_UNWATCHED: Final = (keys.ADMITTED + "/", keys.REPLICA_DELETIONS + "/")  # nobody but a controller writes these


class Lookout:
    """What a term has to look at again in the store. Reads between batches; a read that fails is made again."""

    def __init__(self, services: Services, state: ClusterState, loaded: Loaded) -> None:
        self._services = services
        self._state = state
        self._registered = loaded.registered
        self.findings = loaded.findings
        self._brokers_hinted = False
        self.brokers_due = True  # compare what is registered with what is live
        self._topics_hinted: dict[str, None] = {}
        self._no_topics_hinted: dict[str, None] = {}  # names that are no topic's
        self._all_topics = False
        self._deletions_hinted = False
        self._recheck_ms = services.elapsed_ms() + RECHECK_MS
        self.legacy = LegacyWatch(services, state, self.findings)
        self.errands = Errands(services, state, self.read_states, self.findings)
        self.configs = ConfigWatch(services, state, self.findings)

    def next_due_ms(self) -> int | None:
        """When something is looked at again without a new hint, in `elapsed_ms`: at once where a commit gave cause."""
        if self._is_hinted:
            return self._services.elapsed_ms()
        times = [self._recheck_ms if self._has_to_recheck else None, self.legacy.next_due_ms()]
        return min((time for time in times if time is not None), default=None)

    @property
    def _is_hinted(self) -> bool:
        own = self.brokers_due or self._deletions_hinted or self._topics_hinted
        return bool(own) or self.errands.is_hinted or self.configs.is_hinted

    @property
    def _has_to_recheck(self) -> bool:
        return bool(self._state.problems or self.findings.under(_UNWATCHED))

    def hint(self, event: StoreEvent) -> None:
        """Remember what to look at."""
        where = event.key if isinstance(event, Changed) else event.prefix if isinstance(event, Resync) else ""
        if where.startswith(keys.BROKER_IDS):
            self._brokers_hinted = True
        elif where == keys.REASSIGN_PARTITIONS:
            self.legacy.hint()
        elif where.startswith(keys.DELETE_TOPICS):
            self._deletions_hinted = True
        elif where == keys.TOPICS:
            self._all_topics = True
        elif where.startswith(keys.TOPICS + "/"):
            self._hint_topic(keys.topic_of(where))
        else:
            self.errands.hint(where)
            self.configs.hint(where)

    def _hint_topic(self, name: str | None) -> None:
        if name is None:
            return
        if is_topic(name):
            self._topics_hinted[name] = None
        else:
            self._no_topics_hinted[name] = None

    def look_at_deletions(self) -> None:
        """A topic was found: a key that asks for its deletion may have waited for it."""
        self._deletions_hinted = True

    def look(self) -> list[Event]:
        """Read what was hinted at; what was found. Raises what the store raises, having forgotten nothing."""
        now_ms, elapsed_ms = self._services.clock.now_ms(), self._services.elapsed_ms()
        if self._brokers_hinted:
            self._registered, problems = read_registrations(self._services.store, self._services.read_timeout_s)
            self.findings.below(keys.BROKER_IDS, problems)
            self._brokers_hinted, self.brokers_due = False, True
        if self._all_topics:
            names = self._services.store.children(keys.TOPICS, timeout_s=self._services.read_timeout_s)
            for name in (*names, *self._state.topic_names()):
                self._hint_topic(name)
            for key in self.findings.under((keys.TOPICS + "/",)):
                self._hint_topic(keys.topic_of(key))
            self._all_topics = False
        if self._no_topics_hinted:
            self._look_at_no_topics()
        events = self._topics(now_ms) if self._topics_hinted else []
        events += self.legacy.look(now_ms)
        if self._deletions_hinted:
            events += self._deletions(now_ms)
        if self._has_to_recheck and elapsed_ms >= self._recheck_ms:
            events += self._recheck(now_ms)
            self._recheck_ms = elapsed_ms + RECHECK_MS
        events += self.configs.look(now_ms)
        events += self.errands.look(now_ms)
        # Nothing is read below this line: what was hinted at may be forgotten.
        self.configs.looked()
        self.errands.looked()
        if self.brokers_due:
            events += self._brokers(now_ms)
        events += self.legacy.due(now_ms, elapsed_ms, all_admitted=self._all_admitted)
        self.brokers_due, self._topics_hinted = False, {}
        self._deletions_hinted = False
        return events

    # --- brokers

    def _brokers(self, now_ms: int) -> list[Event]:
        state, events = self._state, list[Event]()
        for broker_id in sorted({*state.brokers, *self._registered}):
            live, registered = state.brokers.get(broker_id), self._registered.get(broker_id)
            if live is not None and (registered is None or registered.epoch != live.epoch):
                events.append(BrokerGone(now_ms, broker_id, live.epoch))
            elif live is None and registered is not None and broker_id not in state.dying:
                events.append(BrokerCame(now_ms, registered))
            elif live is not None and registered is not None and live != registered:
                events.append(BrokerRedescribed(now_ms, registered))
        return events

    def read_brokers(self, now_ms: int) -> list[Event]:
        """Who came and who went, by what is registered now: at least as the commit saw it that found a broker there."""
        self._get(TOKEN_KEY)
        found = read_registrations(self._services.store, self._services.read_timeout_s)
        self._registered, self._registration_findings = found
        return self._brokers(now_ms)

    def _all_admitted(self) -> bool:
        live = self._state.brokers
        return all(b in live and live[b].epoch == found.epoch for b, found in self._registered.items())

    # --- topics and partitions

    def _topics(self, now_ms: int) -> list[Event]:
        names = list(self._topics_hinted)
        columns = self._services.store.get_columns(
            [keys.topic(name) for name in names], timeout_s=self._services.read_timeout_s
        )
        changed = [
            name
            for name, version, value in zip(names, columns.versions, columns.values, strict=True)
            if self._is_news(name, version if value is not None else 0)
        ]
        events: list[Event] = [self.read_topic(name, now_ms) for name in changed]
        gone = [name for name, value in zip(names, columns.values, strict=True) if value is None and name in changed]
        return events + [event for name in gone for event in self._lost_states(name, now_ms)]

    def _look_at_no_topics(self) -> None:
        paths = [keys.topic(name) for name in self._no_topics_hinted]
        for path, is_there in self._are_there(paths):
            if is_there:
                self.findings.bad(path, NO_TOPIC)
            else:
                self.findings.good(path)
        self._no_topics_hinted = {}

    def _are_there(self, paths: Sequence[str]) -> Iterable[tuple[str, bool]]:
        columns = self._services.store.get_columns(paths, timeout_s=self._services.read_timeout_s)
        return zip(paths, (value is not None for value in columns.values), strict=True)

    def _lost_states(self, name: str, now_ms: int) -> list[Event]:
        """Whoever removed a topic's key by hand may have removed its state keys as well, which nobody watches."""
        if self._state.is_deleting(name):
            return []
        numbers = range(self._state.partition_count(name))
        columns = self._services.store.get_columns(
            [keys.state(name, number) for number in numbers], timeout_s=self._services.read_timeout_s
        )
        return [
            self.read_state(name, number, now_ms)
            for number, version, value in zip(numbers, columns.versions, columns.values, strict=True)
            if self._state.key_version(name, number).version != (version if value is not None else 0)
        ]

    def _is_news(self, name: str, version: int) -> bool:
        return self._state.key_version(name, None).version != version or self._state.unreadable(name) is not None

    def _deletions(self, now_ms: int) -> list[Event]:
        """Keys under /admin/delete_topics that are not as we know them."""
        entries = read_children(self._services.store, keys.DELETE_TOPICS, self._services.read_timeout_s)
        found = {name: entry.version for name, entry in entries}
        known = {name: deletion.version for name, deletion in self._state.deletions.items()}
        names = [name for name, version in found.items() if known.get(name) != version]
        names += [name for name, version in known.items() if version and name not in found]
        return [DeletionKeyRead(now_ms, name, found.get(name, 0)) for name in names]

    def read_deletion(self, name: str, now_ms: int) -> DeletionKeyRead:
        """Whether somebody wants a topic to be deleted."""
        entry = self._get(keys.delete_topic(name))
        return DeletionKeyRead(now_ms, name, 0 if entry is None else entry.version)

    def _recheck(self, now_ms: int) -> list[Event]:
        unwatched = self.findings.under(_UNWATCHED)
        for path, is_there in self._are_there(unwatched) if unwatched else ():
            if not is_there:
                self.findings.good(path)
        return [
            self.read_topic(topic, now_ms) if partition is None else self.read_state(topic, partition, now_ms)
            for topic, partition in list(self._state.problems)
        ]

    def _get(self, key: str) -> Entry | None:
        return self._services.store.get(key, sync=True, timeout_s=self._services.read_timeout_s)

    def read_state(self, topic: str, partition: int, now_ms: int) -> StateKeyRead:
        """What the state key of a partition holds now."""
        return self._state_read(topic, partition, self._get(keys.state(topic, partition)), now_ms)

    def read_states(self, partitions: Sequence[TopicPartition], now_ms: int) -> list[StateKeyRead]:
        """What the state keys of partitions hold now, at least as our last commit left them."""
        if not partitions:
            return []
        entries = self.read_versions(keys.state(tp.topic, tp.partition) for tp in partitions)
        read = zip(partitions, entries, strict=True)
        return [self._state_read(tp.topic, tp.partition, entry, now_ms) for tp, entry in read]

    def _state_read(self, topic: str, partition: int, entry: Entry | None, now_ms: int) -> StateKeyRead:
        key = keys.state(topic, partition)
        if entry is None:
            return StateKeyRead(now_ms, topic, partition, None, None, ABSENT)
        at = KeyVersion(entry.version, entry.generation)
        known = self._state.partition(topic, partition)
        replicas = () if known is None else known.replicas
        try:
            found = partition_state.decode(parse(entry.value), topic, partition, replicas, now_ms)
        except BadValue as error:
            return StateKeyRead(now_ms, topic, partition, None, f"{key}: {error}", at)
        return StateKeyRead(now_ms, topic, partition, found, None, at)

    def read_topic(self, name: str, now_ms: int) -> TopicKeyRead:
        """What the key of a topic holds now, and all that stands below it."""
        key = keys.topic(name)
        entry = self._get(key)
        at = ABSENT if entry is None else KeyVersion(entry.version, entry.generation)
        nothing = KeyVersions(at, (), 0)
        if entry is None:
            return TopicKeyRead(now_ms, name, None, (), {}, nothing, (), None, {})
        try:
            found = topic_codec.decode(entry.value, name)
        except BadValue as error:
            return TopicKeyRead(now_ms, name, None, (), {}, nothing, (), f"{key}: {error}", {})
        read = [self._partition(name, i, replicas, now_ms) for i, replicas in enumerate(found.assignments)]
        config, config_version = self._config(name)
        topic = found.topic
        if not topic.topic_id:
            topic = attrs.evolve(topic, topic_id=self._services.chance.topic_id())
        return TopicKeyRead(
            now_ms,
            name,
            topic,
            tuple(partition for partition, _, _ in read),
            config,
            KeyVersions(at, tuple(version for _, version, _ in read), config_version),
            kafka_moves(topic, now_ms),
            None,
            {i: problem for i, (_, _, problem) in enumerate(read) if problem},
            id_is_new=not found.topic.topic_id,
        )

    def _partition(
        self, topic: str, partition: int, replicas: tuple[int, ...], now_ms: int
    ) -> tuple[Partition, KeyVersion, str | None]:
        key = keys.state(topic, partition)
        entry = self._get(key)
        if entry is None:
            return without_state(topic, partition, replicas), ABSENT, None
        at = KeyVersion(entry.version, entry.generation)
        try:
            return partition_state.decode(parse(entry.value), topic, partition, replicas, now_ms), at, None
        except BadValue as error:
            return without_state(topic, partition, replicas), at, f"{key}: {error}"

    def _config(self, name: str) -> tuple[dict[str, str], int]:
        key = keys.topic_config(name)
        entry = self._get(key)
        self.findings.good(key)
        if entry is None:
            return {}, 0
        try:
            return small.decode_config(entry.value), entry.version
        except BadValue as error:
            self.findings.bad(key, str(error))
            return {}, entry.version

    def read_versions(self, paths: Iterable[str]) -> list[Entry | None]:
        """Where keys stand now, after a commit whose reply was lost: at least as it left them, hence the read of its
        token before (ZooKeeper: `sync`)."""
        self._get(TOKEN_KEY)
        return self._services.store.get_many(list(paths), timeout_s=self._services.read_timeout_s)
