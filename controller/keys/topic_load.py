"""The part of a takeover's load that grows with the cluster: all topics with their configs and states.

Rules
* By columns: keys are read in bulk and parsed in bulk, and objects that stay are created once.
* The next part is read while the former one is being decoded (`KeyContext.ahead`).
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from ...stores.base import Columns
from ..codec import BadValue, keys
from ..codec.bulk import Bulk, States
from ..codec.names import NO_TOPIC, is_topic
from ..codec.topic import TopicKey
from ..model.events import Event, TopicIdMissing
from ..model.records import KeyVersions
from ..model.values import Partition, UnreadConfigs
from ..rules.completion import kafka_moves
from ..rules.foreign_writes import follow_up
from ..state.columns import PartitionColumns
from ..state.rows import ABSENT
from .base import KeyContext, name_of
from .configs import unread_config

_PART: Final = 20_000  # partitions whose keys are read together


class _Found(NamedTuple):
    """A topic's key as it was read."""

    key: TopicKey
    version: int


class TopicLoad:
    """One load of all topics. `events`: to be decided for them."""

    def __init__(self, context: KeyContext, now_ms: int) -> None:
        self._ground, self._state = context, context.state
        self._now_ms = now_ms
        self._bulk = Bulk()
        self.events: list[Event] = []

    def run(self) -> None:
        for part, (configs, states) in self._ground.ahead(self._read, _parts(self._topics())):
            self._add(part, configs, states)

    def _topics(self) -> list[_Found]:
        names = [name_of(path) for path in self._ground.children(keys.TOPICS)]
        self._ground.findings.below(keys.TOPICS, {keys.topic(name): NO_TOPIC for name in names if not is_topic(name)})
        names = [name for name in names if is_topic(name)]
        columns = self._columns([keys.topic(name) for name in names])
        # A topic without a value was deleted meanwhile, or is a parent without data.
        there = [i for i, value in enumerate(columns.values) if value is not None]
        names, values = [names[i] for i in there], [value for value in columns.values if value is not None]
        topics = []
        for name, i, found in zip(names, there, self._bulk.topics(names, values), strict=True):
            if isinstance(found, BadValue):
                self._state.load_problem(name, None, f"{keys.topic(name)}: {found}")
            else:
                topics.append(_Found(found, columns.versions[i]))
        return topics

    def _read(self, part: Sequence[_Found]) -> tuple[Columns, Columns]:
        """The configs and states of some topics: everything that is read while the former part is decoded."""
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
            name = found.key.topic.name
            self._state.versions.put_below(keys.TOPICS, name, found.version)
            self._state.versions.put_below(keys.CONFIG_TOPICS, name, 0 if config is None else config_version)
            read = self._config(found.key, config)
            whole = self._whole(found.key, said, here.start) if said.more else {}
            columns = said.isrs[here], said.leaders[here], said.leader_epochs[here]
            partitions = PartitionColumns(found.key.assignments, *columns, whole)
            self._add_topic(found.key, partitions, read, KeyVersions(versions, generations))

    def _whole(self, found: TopicKey, said: States, at: int) -> dict[int, Partition]:
        """The partitions whose state key has more fields than most, or cannot be read, by id."""
        name, whole = found.topic.name, {}
        for number, replicas in enumerate(found.assignments):
            if at + number in said.more:
                try:
                    whole[number] = said.partition(at + number, name, number, replicas, self._now_ms)
                except BadValue as error:
                    self._state.load_problem(name, number, f"{keys.state(name, number)}: {error}")
        return whole

    def _config(self, found: TopicKey, config: Mapping[str, str] | BadValue | None) -> Mapping[str, str]:
        if isinstance(config, BadValue):
            key = keys.topic_config(found.topic.name)
            self._ground.findings.bad(key, unread_config(key).said(config))
            return UnreadConfigs()
        return {} if config is None else config

    def _add_topic(
        self, found: TopicKey, partitions: PartitionColumns, config: Mapping[str, str], versions: KeyVersions
    ) -> None:
        name, now_ms, state = found.topic.name, self._now_ms, self._state
        first = len(state.rows)
        whole = state.load_topic(found.topic, partitions, config, versions)
        if not found.topic.topic_id:
            self.events.append(TopicIdMissing(now_ms, name, self._ground.topic_id()))
        if found.topic.kafka_moves:
            self.events += kafka_moves(found.topic, now_ms)
        led = zip(partitions.leaders, partitions.isrs, strict=True)
        remarkable = [n for n, (leader, isr) in enumerate(led, first) if leader not in isr or n in whole]
        if remarkable:
            rows = [row for n in remarkable if (row := state.rows[n]) is not None]
            self.events += follow_up(now_ms, found.topic, rows)

    def _columns(self, paths: Sequence[str]) -> Columns:
        return self._ground.store.get_columns(paths, timeout_s=self._ground.timeout_s)


def _parts(topics: Sequence[_Found]) -> list[list[_Found]]:
    """Topics in order, in parts of about _PART partitions."""
    parts: list[list[_Found]] = []
    room = 0
    for found in topics:
        if room <= 0:
            parts.append([])
            room = _PART
        parts[-1].append(found)
        room -= len(found.key.assignments)
    return parts
