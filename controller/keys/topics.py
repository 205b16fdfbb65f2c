"""The keys of topics. An unreadable one is a problem of that topic alone.

Versions are compared first, since our own writes cause hints too. Any number of topics takes four reads: the token of
the last commit, the topics, their configs, their states. A takeover loads them by `topic_load`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import attrs

from ...stores.base import Depth, Entry, Op
from ..codec import BadValue, keys
from ..codec import topic as codec
from ..codec.names import NO_TOPIC, is_topic
from ..codec.topic import TopicKey
from ..model.events import Event, TopicKeyRead
from ..model.records import KeyVersions
from ..model.values import Replicas, TopicPartition
from ..rules.completion import kafka_moves
from ..state.rows import TopicRow
from .base import GONE, PATH_BYTES, Content, KeyKind, UnversionedKeys, at_of, name_of
from .configs import config_in
from .states import partition_in, problem_of, read_states, version_in
from .topic_load import TopicLoad
from .unreadable import TOPIC


class TopicKeys(KeyKind):
    """`key_id`: the topic, which may have been deleted."""

    unreadable = (TOPIC,)
    name, path, read_event = "topic", staticmethod(keys.topic), (TopicKeyRead, "name")
    roots = ((keys.TOPICS, Depth.VALUES),)

    def load(self, now_ms: int) -> list[Event]:
        loading = TopicLoad(self.context, now_ms)
        loading.run()
        return loading.events

    def look(self, paths: Collection[str], now_ms: int) -> list[Event]:
        context, found = self.context, self.named(paths)
        if keys.TOPICS in paths:
            found |= dict.fromkeys(map(keys.topic, self.state.topic_names()))
            found |= dict.fromkeys(context.findings.under((keys.TOPICS + "/",)))
        changed, lost = [], []
        for at, value in context.columns(list(found)):
            name = name_of(at.path)
            if not is_topic(name):
                context.findings.good(at.path) if value is None else context.findings.bad(at.path, NO_TOPIC)
            elif not self.state.is_known(at) or self.state.unreadable(name) is not None:
                changed.append(name)
                lost += [name] if value is None else []
        return [*self.reread(changed, now_ms), *(event for name in lost for event in self._lost_states(name, now_ms))]

    def _lost_states(self, name: str, now_ms: int) -> list[Event]:
        """If a topic's key was removed by hand, its state keys may have been removed too; these are not watched."""
        if self.state.is_deleting(name):
            return []
        partitions = [TopicPartition(name, number) for number in range(self.state.partition_count(name))]
        return read_states(self.context, partitions, now_ms)

    def reread(self, key_ids: Sequence[str], now_ms: int) -> list[Event]:
        """The events for the content of topic keys, and of all keys below them."""
        if not key_ids:
            return []
        entries = self.context.current(list(map(keys.topic, key_ids)))
        topics = [_topic(name, entry) for name, entry in zip(key_ids, entries, strict=True)]
        there = [topic for topic in topics if isinstance(topic, TopicKey)]
        configs = self.context.many([keys.topic_config(one.topic.name) for one in there])
        states = self.context.many(
            [keys.state(one.topic.name, number) for one in there for number in range(len(one.assignments))]
        )
        below = zip(configs, _parts(there, states), strict=True)
        return [
            self._read(entry, topic, next(below), now_ms)
            if entry is not None and isinstance(topic, TopicKey)
            else _no_topic(name, entry, topic, now_ms)
            for name, entry, topic in zip(key_ids, entries, topics, strict=True)
        ]

    def _read(
        self, entry: Entry, found: TopicKey, below: tuple[Entry | None, Sequence[Entry | None]], now_ms: int
    ) -> TopicKeyRead:
        topic, name = found.topic, found.topic.name
        read = [
            partition_in(state, name, number, replicas, now_ms)
            for number, (replicas, state) in enumerate(zip(found.assignments, below[1], strict=True))
        ]
        path, value = keys.topic_config(name), None if below[0] is None else below[0].value
        config = config_in(self.context, path, value, {})
        if not topic.topic_id:
            topic = attrs.evolve(topic, topic_id=self.context.topic_id())
        return TopicKeyRead(
            now_ms,
            name,
            at_of(entry.key, entry),
            topic,
            tuple(partition for partition, _ in read),
            KeyVersions.of(list(map(version_in, below[1]))),
            config,
            at_of(path, below[0]),
            kafka_moves(topic, now_ms),
            None,
            {number: problem for number, (_, problem) in enumerate(read) if problem},
            id_is_new=not found.topic.topic_id,
        )

    def cost_max(self, key_id: str) -> int:
        row = self.state.topics.get(key_id)
        if row is None:
            return PATH_BYTES + len(key_id)
        return PATH_BYTES + len(key_id) + codec.topic_bytes_max(row.topic, self._assignments(row))

    def _assignments(self, row: TopicRow) -> list[Replicas]:
        """R of every partition, by id."""
        return self.state.rows.replicas(row.numbers)

    def content(self, key_id: str) -> Content:
        row = self.state.topics.get(key_id)
        return GONE if row is None else codec.encode(row.topic, self._assignments(row))


class ParentKeys(UnversionedKeys):
    """Nodes without data of a deleted topic, in stores that keep them. `key_id`: topic, partition (or None)."""

    name = "parent"

    def key(self, key_id: tuple[str, int | None]) -> str:
        return keys.partitions(key_id[0]) if key_id[1] is None else keys.partition(key_id[0], key_id[1])

    def op(self, key_id: tuple[str, int | None], key: str) -> Op | None:
        return super().op(key_id, key) if self.context.parents_stay else None


def _topic(name: str, entry: Entry | None) -> TopicKey | BadValue | None:
    try:
        return None if entry is None else codec.decode(entry.value, name)
    except BadValue as error:
        return error


def _parts(topics: Sequence[TopicKey], states: Sequence[Entry | None]) -> Iterator[Sequence[Entry | None]]:
    at = 0
    for topic in topics:
        yield states[at : at + len(topic.assignments)]
        at += len(topic.assignments)


def _no_topic(name: str, entry: Entry | None, error: TopicKey | BadValue | None, now_ms: int) -> TopicKeyRead:
    problem = problem_of(entry, error) if entry is not None and isinstance(error, BadValue) else None
    at, config_at = at_of(keys.topic(name), entry), at_of(keys.topic_config(name), None)
    return TopicKeyRead(now_ms, name, at, None, (), KeyVersions((), ()), {}, config_at, (), problem, {})
