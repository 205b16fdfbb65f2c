"""The part of a takeover's load that grows with the cluster: every topic with its configs and states.

Rules
* By columns: keys are read in bulk, parsed in bulk, and what stays is made once.
* The store is asked for the next part while the one before is being decoded, by a thread of its own. A small tree is
  one part and needs no thread: simulations stay as they are.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final, NamedTuple, TypeVar

from controller.codec import BadValue, keys
from controller.codec.bulk import Bulk, States
from controller.codec.names import NO_TOPIC, is_topic
from controller.codec.topic import TopicKey
from controller.keys.unreadable import broken, forbidden
from controller.model.events import Event, TopicIdMissing
from controller.model.records import UNREAD, KeyVersion, KeyVersions
from controller.model.values import Partition, UnreadConfigs
from controller.rules.completion import kafka_moves
from controller.rules.foreign_writes import follow_up
from controller.runtime.clock import Chance
from controller.runtime.loaded import Loaded
from controller.runtime.readable import FORBIDDEN
from controller.state.columns import PartitionColumns
from controller.state.rows import ABSENT
from stores.base import Columns, MetadataStore

_PART: Final = 20_000  # partitions of which the keys are asked for at once
_T = TypeVar("_T")
_A = TypeVar("_A")


def load_topics(store: MetadataStore, loaded: Loaded, now_ms: int, chance: Chance, timeout_s: float) -> None:
    """All topics into the state of `loaded`, and what there is to do for each among its events; first of all, topics of
    older Kafkas want an id: a death may complete a move, and the intents of that are known by the topic's id."""
    TopicLoad(store, loaded, now_ms, chance, timeout_s).run()


class _Found(NamedTuple):
    """A topic's key as it was read."""

    key: TopicKey
    at: KeyVersion


class TopicLoad:
    """One load of all topics."""

    def __init__(self, store: MetadataStore, loaded: Loaded, now_ms: int, chance: Chance, timeout_s: float) -> None:
        self._store = store
        self._loaded = loaded
        self._now_ms = now_ms
        self._chance = chance
        self._timeout_s = timeout_s
        self._bulk = Bulk()

    def run(self) -> None:
        for part, (configs, states) in _ahead(self._read, _parts(self._topics())):
            self._add(part, configs, states)

    def _topics(self) -> list[_Found]:
        names = self._store.children(keys.TOPICS, timeout_s=self._timeout_s)
        self._loaded.findings.below(keys.TOPICS, {keys.topic(name): NO_TOPIC for name in names if not is_topic(name)})
        names = [name for name in names if is_topic(name)]
        columns = self._columns([keys.topic(name) for name in names])
        # a topic without a value was deleted since, or is a parent without data
        there = [i for i, value in enumerate(columns.values) if value is not None]
        names, values = [names[i] for i in there], [value for value in columns.values if value is not None]
        topics = []
        for name, i, found in zip(names, there, self._bulk.topics(names, values), strict=True):
            if isinstance(found, BadValue):
                self._problem(keys.topic(name), name, None, found, columns.values[i])
            else:
                topics.append(_Found(found, KeyVersion(columns.versions[i], columns.generations[i])))
        return topics

    def _read(self, part: Sequence[_Found]) -> tuple[Columns, Columns]:
        """Configs and states of some topics: all that is done beside the decoding."""
        configs = self._columns([keys.topic_config(found.key.topic.name) for found in part])
        states = [
            f"/brokers/topics/{found.key.topic.name}/partitions/{number}/state"
            for found in part
            for number in range(len(found.key.assignments))
        ]
        return configs, self._columns(states)

    def _add(self, part: Sequence[_Found], configs: Columns, states: Columns) -> None:
        said, at = self._bulk.states(states.values), 0
        settings = self._bulk.settings(configs.values)
        for found, config, config_version in zip(part, settings, configs.versions, strict=True):
            here = slice(at, at + len(found.key.assignments))
            at = here.stop
            versions, generations = states.versions[here], states.generations[here]
            if 0 in versions:
                pairs = zip(versions, generations, strict=True)
                generations = array("q", [g if v else ABSENT.generation for v, g in pairs])
            versions_ = KeyVersions(found.at, versions, generations, config_version)
            read = self._config(found.key, config)
            whole = self._whole(found.key, said, here.start, versions_) if said.more else {}
            columns = said.isrs[here], said.leaders[here], said.leader_epochs[here]
            self._add_topic(found.key, PartitionColumns(found.key.assignments, *columns, whole), read, versions_)

    def _whole(self, found: TopicKey, said: States, at: int, versions: KeyVersions) -> dict[int, Partition]:
        """The partitions whose state key says more than most, or cannot be read: by their id."""
        name, whole = found.topic.name, {}
        for number, replicas in enumerate(found.assignments):
            if at + number in said.more:
                try:
                    whole[number] = said.partition(at + number, name, number, replicas, self._now_ms)
                except BadValue as error:
                    is_forbidden = versions.versions[number] == UNREAD
                    self._problem(keys.state(name, number), name, number, error, FORBIDDEN if is_forbidden else None)
        return whole

    def _config(self, found: TopicKey, config: Mapping[str, str] | BadValue | None) -> Mapping[str, str]:
        if isinstance(config, BadValue):
            key = keys.topic_config(found.topic.name)
            self._loaded.findings.bad(key, broken(key, config))
            return UnreadConfigs()
        return {} if config is None else config

    def _add_topic(
        self, found: TopicKey, partitions: PartitionColumns, config: Mapping[str, str], versions: KeyVersions
    ) -> None:
        name, now_ms, state = found.topic.name, self._now_ms, self._loaded.state
        first = len(state.rows)
        whole = state.load_topic(found.topic, partitions, config, versions)
        events: list[Event] = self._loaded.events
        if not found.topic.topic_id:
            self._loaded.first.append(TopicIdMissing(now_ms, name, self._chance.topic_id()))
        if found.topic.kafka_moves:
            events += kafka_moves(found.topic, now_ms)
        led = zip(partitions.leaders, partitions.isrs, strict=True)
        remarkable = [n for n, (leader, isr) in enumerate(led, first) if leader not in isr or n in whole]
        if remarkable:
            events += follow_up(now_ms, found.topic, [row for n in remarkable if (row := state.rows[n]) is not None])

    def _problem(self, key: str, topic: str, number: int | None, error: BadValue, value: bytes | None) -> None:
        said = forbidden(key) if value is FORBIDDEN else error
        self._loaded.state.load_problem(topic, number, f"{key}: {said}")

    def _columns(self, paths: Sequence[str]) -> Columns:
        return self._store.get_columns(paths, timeout_s=self._timeout_s)


def _parts(topics: Sequence[_Found]) -> list[list[_Found]]:
    """Topics in their order, with about _PART partitions together."""
    parts: list[list[_Found]] = []
    room = 0
    for found in topics:
        if room <= 0:
            parts.append([])
            room = _PART
        parts[-1].append(found)
        room -= len(found.key.assignments)
    return parts


def _ahead(read: Callable[[_A], _T], parts: Sequence[_A]) -> Iterator[tuple[_A, _T]]:
    """Each part with what was read for it; the next is read while the caller is at work."""
    if len(parts) == 1:
        yield parts[0], read(parts[0])
        return
    with ThreadPoolExecutor(1, "kedge-load") as pool:
        coming = None
        for place, part in enumerate(parts):
            found = pool.submit(read, part).result() if coming is None else coming.result()
            coming = pool.submit(read, parts[place + 1]) if place + 1 < len(parts) else None
            yield part, found
