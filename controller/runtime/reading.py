"""Keys that somebody else may have written, read in bulk: what they hold now, as events.

Rules
* What is read is at least as our last commit left it, hence the read of its token before (ZooKeeper: `sync`).
* Any number of topics is four reads of the store: the token, the topics, their configs, their states.
* A key that cannot be read is a problem of that partition or topic alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import attrs

from controller.codec import BadValue, keys, partition_state, small
from controller.codec import topic as topic_codec
from controller.codec.text import parse
from controller.codec.topic import TopicKey
from controller.model.events import StateKeyRead, TopicKeyRead
from controller.model.records import KeyVersion, KeyVersions
from controller.model.values import Partition, Replicas, TopicPartition, UnreadSettings, without_state
from controller.rules.progress import kafka_moves
from controller.runtime.findings import Findings
from controller.runtime.readable import FORBIDDEN
from controller.runtime.services import Services
from controller.runtime.unreadable import broken, forbidden
from controller.state import ClusterState
from controller.state.rows import ABSENT
from stores.base import Entry
from stores.recipes import TOKEN_KEY


class Reading:
    """Of one term. All of it raises what the store raises."""

    def __init__(self, services: Services, state: ClusterState, findings: Findings) -> None:
        self._services = services
        self._state = state
        self._findings = findings

    def versions(self, paths: Iterable[str]) -> list[Entry | None]:
        """What stands under `paths`."""
        self._services.store.get(TOKEN_KEY, sync=True, timeout_s=self._services.read_timeout_s)
        return self._many(list(paths))

    def states(self, partitions: Sequence[TopicPartition], now_ms: int) -> list[StateKeyRead]:
        """What the state keys of partitions hold."""
        if not partitions:
            return []
        entries = self.versions(keys.state(tp.topic, tp.partition) for tp in partitions)
        return [
            self._state_read(tp.topic, tp.partition, entry, now_ms)
            for tp, entry in zip(partitions, entries, strict=True)
        ]

    def topics(self, names: Sequence[str], now_ms: int) -> list[TopicKeyRead]:
        """What the keys of topics hold, and all that stands below them."""
        if not names:
            return []
        entries = self.versions(map(keys.topic, names))
        topics = [_topic(name, entry) for name, entry in zip(names, entries, strict=True)]
        there = [topic for topic in topics if isinstance(topic, TopicKey)]
        configs = self._many([keys.topic_config(one.topic.name) for one in there])
        states = self._many(
            [keys.state(one.topic.name, number) for one in there for number in range(len(one.assignments))]
        )
        below = zip(configs, _parts(there, states), strict=True)
        return [
            self._topic_read(entry, topic, next(below), now_ms)
            if entry is not None and isinstance(topic, TopicKey)
            else _no_topic(name, entry, topic, now_ms)
            for name, entry, topic in zip(names, entries, topics, strict=True)
        ]

    def _many(self, paths: Sequence[str]) -> list[Entry | None]:
        return self._services.store.get_many(paths, timeout_s=self._services.read_timeout_s) if paths else []

    def _state_read(self, topic: str, number: int, entry: Entry | None, now_ms: int) -> StateKeyRead:
        known = self._state.partition(topic, number)
        replicas = () if known is None else known.replicas
        found, problem = _partition(topic, number, replicas, entry, now_ms)
        is_read = entry is not None and problem is None
        return StateKeyRead(now_ms, topic, number, found if is_read else None, problem, _at(entry))

    def _topic_read(
        self, entry: Entry, found: TopicKey, below: tuple[Entry | None, Sequence[Entry | None]], now_ms: int
    ) -> TopicKeyRead:
        topic, name = found.topic, found.topic.name
        read = [
            _partition(name, number, replicas, state, now_ms)
            for number, (replicas, state) in enumerate(zip(found.assignments, below[1], strict=True))
        ]
        config, config_version = self._config(name, below[0])
        if not topic.topic_id:
            topic = attrs.evolve(topic, topic_id=self._services.chance.topic_id())
        return TopicKeyRead(
            now_ms,
            name,
            topic,
            tuple(partition for partition, _ in read),
            config,
            KeyVersions.of(_at(entry), list(map(_at, below[1])), config_version),
            kafka_moves(topic, now_ms),
            None,
            {number: problem for number, (_, problem) in enumerate(read) if problem},
            id_is_new=not found.topic.topic_id,
        )

    def _config(self, name: str, entry: Entry | None) -> tuple[Mapping[str, str], int]:
        key = keys.topic_config(name)
        self._findings.good(key)
        if entry is None:
            return {}, 0
        try:
            return small.decode_config(entry.value), entry.version
        except BadValue as error:
            if entry.value is not FORBIDDEN:
                self._findings.bad(key, broken(key, error))
            return UnreadSettings(self._state.topic_config(name)), entry.version


def _topic(name: str, entry: Entry | None) -> TopicKey | BadValue | None:
    try:
        return None if entry is None else topic_codec.decode(entry.value, name)
    except BadValue as error:
        return error


def _parts(topics: Sequence[TopicKey], states: Sequence[Entry | None]) -> Iterator[Sequence[Entry | None]]:
    """The states of each topic."""
    at = 0
    for topic in topics:
        yield states[at : at + len(topic.assignments)]
        at += len(topic.assignments)


def _no_topic(name: str, entry: Entry | None, error: TopicKey | BadValue | None, now_ms: int) -> TopicKeyRead:
    problem = _problem(entry, error) if entry is not None and isinstance(error, BadValue) else None
    return TopicKeyRead(now_ms, name, None, (), {}, KeyVersions.of(_at(entry), (), 0), (), problem, {})


def _partition(
    topic: str, number: int, replicas: Replicas, entry: Entry | None, now_ms: int
) -> tuple[Partition, str | None]:
    """The partition, without a state where that is absent or cannot be read; and the problem."""
    problem = None
    if entry is not None:
        try:
            return partition_state.decode(parse(entry.value), topic, number, replicas, now_ms), None
        except BadValue as error:
            problem = _problem(entry, error)
    return without_state(topic, number, replicas), problem


def _at(entry: Entry | None) -> KeyVersion:
    return ABSENT if entry is None else KeyVersion(entry.version, entry.generation)


def _problem(entry: Entry, error: BadValue) -> str:
    return f"{entry.key}: {forbidden(entry.key) if entry.value is FORBIDDEN else error}"
