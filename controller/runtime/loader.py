"""Takeover's one bulk load: the whole tree into a state, and the events that there is work for.

Bulk reads by columns, many JSON values parsed in one go, no object that is not kept. Whatever cannot be read is a
finding of that key: the rest is loaded, and `full` requests are withheld as long as a topic or state key is
unreadable.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final

import attrs

from controller.codec import BadValue, keys, partition_state, small
from controller.codec import broker as broker_codec
from controller.codec import topic as topic_codec
from controller.codec.names import NO_TOPIC, broker_in, is_topic, number_in
from controller.codec.text import parse_many
from controller.codec.topic import TopicKey
from controller.model.events import (
    BrokerRedescribed,
    DeathDone,
    DeletionKeyRead,
    Event,
    IntentsDue,
    TopicDeletionDue,
    TopicIdMissing,
)
from controller.model.records import KeyVersion, KeyVersions
from controller.model.values import Broker, Partition, Replicas, Settings, without_state
from controller.rules.brokers import expand_death
from controller.rules.deletion import is_begun
from controller.rules.found import follow_up
from controller.rules.progress import kafka_moves
from controller.runtime.clock import Chance
from controller.runtime.findings import Findings
from controller.runtime.legacy import as_key
from controller.state import ClusterState
from controller.state.rows import Admitted
from stores.base import Columns, Entry, MetadataStore

_CHUNK: Final = 2000  # values parsed at once: one broken among them costs the parse of as many, one by one
_UNKNOWN_EPOCH: Final = (
    -1
)  # of an admission that cannot be read: no registration has it, so it is a death, then a birth
_FREEZE_ABOVE: Final = 10_000  # partitions, from which on the collector need not look at them again


@attrs.define
class Loaded:
    """The state of a term as it begins, and what there is to do; what is wrong with keys."""

    state: ClusterState
    events: list[Event]
    registered: dict[int, Broker]
    intents_seq_max: int
    findings: Findings


class Loader:
    """Reads one tree for one term."""

    def __init__(
        self, store: MetadataStore, state: ClusterState, now_ms: int, chance: Chance, timeout_s: float
    ) -> None:
        self._store = store
        self._state = state
        self._now_ms = now_ms
        self._chance = chance
        self._timeout_s = timeout_s
        self._tuples: dict[Replicas, Replicas] = {}
        self._ids: list[Event] = []
        self._loaded = Loaded(state, [], {}, 0, Findings())

    def load(self) -> Loaded:
        """Everything. Raises what the store raises; the caller takes over anew."""
        with _collector_off():
            self._load_brokers()
            self._load_broker_defaults()
            self._load_topics()
            self._load_deletions()
            self._load_intents()
            self._load_legacy()
        if len(self._state.rows) > _FREEZE_ABOVE:
            gc.freeze()
        # Ids first: a death may complete a move, and the intents of that are known by the topic's id.
        self._loaded.events[:0] = [*self._ids, *self._deaths()]
        return self._loaded

    # --- brokers

    def _load_brokers(self) -> None:
        for name, entry in self._entries(keys.ADMITTED):
            try:
                broker_id = broker_in(name)
                self._state.admitted[broker_id] = Admitted(entry.version, _UNKNOWN_EPOCH)
                self._state.admitted[broker_id] = Admitted(entry.version, small.decode_admitted(entry.value))
            except BadValue as error:
                self._loaded.findings.bad(entry.key, str(error))
        registered, problems = read_registrations(self._store, self._timeout_s)
        self._loaded.findings.below(keys.BROKER_IDS, problems)
        self._loaded.registered = registered
        for broker_id, broker in registered.items():
            if self._state.admitted_epoch(broker_id) in (None, broker.epoch):
                self._state.brokers[broker_id] = broker
                self._loaded.events.append(BrokerRedescribed(self._now_ms, broker))

    def _deaths(self) -> list[Event]:
        """Whoever is named by a partition and not live died while nobody looked, or bounced."""
        state, events = self._state, list[Event]()
        for broker_id in sorted({*state.brokers_named(), *state.admitted}):
            if broker_id in state.brokers:
                continue
            epoch = state.admitted_epoch(broker_id) or 0
            state.dying[broker_id] = epoch
            events += expand_death(state, broker_id, self._now_ms)
            events.append(DeathDone(self._now_ms, broker_id, epoch))
        return events

    def _load_broker_defaults(self) -> None:
        entry = self._store.get(keys.BROKER_DEFAULTS, timeout_s=self._timeout_s)
        if entry is None:
            return
        self._state.broker_defaults_version = entry.version
        try:
            self._state.broker_defaults = small.decode_config(entry.value)
        except BadValue as error:
            self._loaded.findings.bad(entry.key, str(error))

    # --- topics

    def _load_topics(self) -> None:
        names = self._store.children(keys.TOPICS, timeout_s=self._timeout_s)
        self._loaded.findings.below(keys.TOPICS, {keys.topic(name): NO_TOPIC for name in names if not is_topic(name)})
        names = [name for name in names if is_topic(name)]
        columns = self._columns([keys.topic(name) for name in names])
        topics = []
        for name, value, version, generation in zip(
            names, columns.values, columns.versions, columns.generations, strict=True
        ):
            if value is None:
                continue  # deleted since, or a parent without data
            try:
                topics.append((topic_codec.decode(value, name), KeyVersion(version, generation)))
            except BadValue as error:
                self._problem(name, None, str(error))
        configs = self._load_configs([found.topic.name for found, _ in topics])
        self._load_states(topics, configs)

    def _load_configs(self, names: Sequence[str]) -> dict[str, tuple[Mapping[str, str], int]]:
        paths = [keys.topic_config(name) for name in names]
        columns = self._columns(paths)
        configs: dict[str, tuple[Mapping[str, str], int]] = {}
        for name, path, value, version in zip(names, paths, columns.values, columns.versions, strict=True):
            if value is None:
                continue
            try:
                configs[name] = (small.decode_config(value), version)
            except BadValue as error:
                self._loaded.findings.bad(path, str(error))
                configs[name] = ({}, version)
        return configs

    def _load_states(
        self, topics: Sequence[tuple[TopicKey, KeyVersion]], configs: Mapping[str, tuple[Mapping[str, str], int]]
    ) -> None:
        paths = [
            f"/brokers/topics/{found.topic.name}/partitions/{partition}/state"
            for found, _ in topics
            for partition in range(len(found.assignments))
        ]
        columns = self._columns(paths)
        parsed = _parsed(columns)
        at = 0
        for found, version in topics:
            end = at + len(found.assignments)
            config, config_version = configs.get(found.topic.name, ({}, 0))
            states = [
                KeyVersion(v, g if v else -1)
                for v, g in zip(columns.versions[at:end], columns.generations[at:end], strict=True)
            ]
            raws = (next(parsed) for _ in found.assignments)
            self._add_topic(found, raws, config, KeyVersions(version, tuple(states), config_version))
            at = end

    def _add_topic(
        self, found: TopicKey, raws: Iterator[object], config: Mapping[str, str], versions: KeyVersions
    ) -> None:
        name, tuples, now_ms = found.topic.name, self._tuples, self._now_ms
        partitions = []
        for number, (listed, raw) in enumerate(zip(found.assignments, raws, strict=True)):
            replicas = tuples.setdefault(listed, listed)
            try:
                partitions.append(_partition(name, number, replicas, raw, now_ms))
            except BadValue as error:
                self._problem(name, number, str(error))
                partitions.append(without_state(name, number, replicas))
        self._state.load_topic(found.topic, partitions, config, versions)
        events = self._loaded.events
        if not found.topic.topic_id:
            self._ids.append(TopicIdMissing(now_ms, name, self._chance.topic_id()))
        events += kafka_moves(found.topic, now_ms)
        events += follow_up(now_ms, found.topic, tuple(partitions))

    def _problem(self, topic: str, partition: int | None, message: str) -> None:
        key = keys.topic(topic) if partition is None else keys.state(topic, partition)
        self._state.set_problem(topic, partition, f"{key}: {message}")

    # --- deletions

    def _load_deletions(self) -> None:
        """Those of known topics go on before anything else is decided; of the others the rules decide."""
        state = self._state
        for name, entry in self._entries(keys.DELETE_TOPICS):
            if name in state.topics and (state.settings.delete_topic_enable or is_begun(state, name)):
                state.start_deletion(name, entry.version)
                self._loaded.events.append(TopicDeletionDue(self._now_ms, name))
            else:
                self._loaded.events.append(DeletionKeyRead(self._now_ms, name, entry.version))

    # --- intents

    def _load_intents(self) -> None:
        for broker in self._store.children(keys.REPLICA_DELETIONS, timeout_s=self._timeout_s):
            for seq, entry in self._entries(f"{keys.REPLICA_DELETIONS}/{broker}"):
                try:
                    owner, number = broker_in(broker), number_in(seq)
                    self._loaded.intents_seq_max = max(self._loaded.intents_seq_max, number)
                    intents = small.decode_intents(entry.value, owner)
                    self._state.intents.load(owner, number, entry.version, intents)
                except BadValue as error:
                    self._loaded.findings.bad(entry.key, str(error))
        brokers = sorted({broker for broker, _ in self._state.intents.keys})
        self._loaded.events += [IntentsDue(self._now_ms, broker) for broker in brokers]

    # --- the legacy key

    def _load_legacy(self) -> None:
        """All that it names is in force; the lookout says when it is gone on with."""
        self._state.legacy.load(as_key(self._store.get(keys.REASSIGN_PARTITIONS, timeout_s=self._timeout_s)))

    # --- reading

    def _columns(self, paths: Sequence[str]) -> Columns:
        return self._store.get_columns(paths, timeout_s=self._timeout_s)

    def _entries(self, parent: str) -> Iterator[tuple[str, Entry]]:
        return read_children(self._store, parent, self._timeout_s)


def read_children(store: MetadataStore, parent: str, timeout_s: float) -> Iterator[tuple[str, Entry]]:
    """Name and entry of every key directly below `parent`."""
    names = store.children(parent, timeout_s=timeout_s)
    entries = store.get_many([f"{parent}/{name}" for name in names], timeout_s=timeout_s)
    return ((name, entry) for name, entry in zip(names, entries, strict=True) if entry is not None)


def read_registrations(store: MetadataStore, timeout_s: float) -> tuple[dict[int, Broker], dict[str, str]]:
    """The registered brokers by id, and what is wrong with keys that are no registrations."""
    brokers: dict[int, Broker] = {}
    problems: dict[str, str] = {}
    for name, entry in read_children(store, keys.BROKER_IDS, timeout_s):
        try:
            brokers[broker_in(name)] = Broker(broker_codec.decode(entry.value, broker_in(name)), entry.created)
        except (ValueError, TypeError) as error:
            problems[entry.key] = str(error)
    return brokers, problems


def _partition(topic: str, number: int, replicas: Replicas, raw: object, now_ms: int) -> Partition:
    """A partition from its parsed state key; None = it has none yet."""
    if raw is None:
        return without_state(topic, number, replicas)
    if isinstance(raw, BadValue):
        raise raw
    return partition_state.decode(raw, topic, number, replicas, now_ms)


def _parsed(columns: Columns) -> Iterator[object]:
    """The JSON of each value, None where there is no key, a BadValue where it is none."""
    values = columns.values
    for start in range(0, len(values), _CHUNK):
        chunk = values[start : start + _CHUNK]
        present = iter(parse_many([value for value in chunk if value is not None]))
        for value in chunk:
            yield None if value is None else next(present)


@contextmanager
def _collector_off() -> Iterator[None]:
    """A load makes hundreds of thousands of objects that stay: looking at them again and again finds nothing."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def load(  # noqa: PLR0917 - what a term begins with, handed on
    store: MetadataStore,
    controller_id: int,
    controller_epoch: int,
    settings: Settings,
    now_ms: int,
    chance: Chance,
    timeout_s: float,
) -> Loaded:
    """The state of a term that was just won, loaded under its claimed token."""
    state = ClusterState(controller_id, controller_epoch, settings)
    return Loader(store, state, now_ms, chance, timeout_s).load()
