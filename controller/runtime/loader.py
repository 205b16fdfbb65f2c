"""Takeover's one bulk load: the whole tree into a state, and the events that there is work for.

Bulk reads by columns, many JSON values parsed in one go, no object that is not kept. Whatever cannot be read is a
finding of that key: the rest is loaded, and `full` requests are withheld as long as a topic or state key is
unreadable.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from controller.codec import BadValue, keys, small
from controller.codec.names import broker_in, number_in
from controller.model.events import (
    BrokerRedescribed,
    DeletionKeyRead,
    Event,
    IntentsDue,
    ThrottleRemovalDue,
    TopicDeletionDue,
)
from controller.model.records import UNREAD
from controller.model.throttles import KINDS, OLD, MarkKind, MarkSlot
from controller.model.values import Broker, Settings, UnreadSettings
from controller.rules.brokers import expand_deaths
from controller.rules.deletion import has_stopped, is_begun
from controller.runtime.clock import Chance
from controller.runtime.collector import collector_off, many_stay
from controller.runtime.findings import Findings
from controller.runtime.legacy import as_key
from controller.runtime.loaded import Loaded
from controller.runtime.presence import Registrations, read_registrations
from controller.runtime.readable import FORBIDDEN, ReadableStore, read_children
from controller.runtime.reductions import load_key
from controller.runtime.topic_load import load_topics
from controller.runtime.unreadable import broken, forbidden
from controller.runtime.written_throttles import as_mark, path_of
from controller.state import ClusterState
from controller.state.rows import Admitted, OwnSettings
from stores.base import Columns, Entry, MetadataStore
from stores.recipes import next_in_sequence

__all__ = ["UNKNOWN_EPOCH", "Loader", "load", "read_children"]

UNKNOWN_EPOCH: Final = -1  # of an admission that cannot be read: no registration has it, so it is a death, then a birth
_FREEZE_ABOVE: Final = 10_000  # partitions, from which on the collector need not look at them again


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
        self._loaded = Loaded(state, [], [], Registrations(), 0, Findings())

    def load(self) -> Loaded:
        """Everything. Raises what the store raises; the caller takes over anew."""
        with collector_off():
            self._load_brokers()
            self._load_broker_configs()
            self._load_changes()
            load_topics(self._store, self._loaded, self._now_ms, self._chance, self._timeout_s)
            self._load_deletions()
            self._load_reductions()
            self._load_intents()
            self._load_legacy()
            self._load_throttles()
        if len(self._state.rows) > _FREEZE_ABOVE:
            many_stay()
        self._loaded.events[:0] = self._deaths()
        return self._loaded

    # --- brokers

    def _load_brokers(self) -> None:
        for name, entry in self._entries(keys.ADMITTED):
            try:
                broker_id = broker_in(name)
                self._state.admitted[broker_id] = Admitted(entry.version, UNKNOWN_EPOCH)
                if entry.value is FORBIDDEN:
                    continue
                self._state.admitted[broker_id] = Admitted(entry.version, small.decode_admitted(entry.value))
            except BadValue as error:
                self._loaded.findings.bad(entry.key, str(error))
        registered = self._loaded.registered = read_registrations(self._store, self._timeout_s)
        self._loaded.findings.below(keys.BROKER_IDS, registered.problems)
        for broker_id, epoch in registered.unread.items():
            if epoch is None or self._state.admitted_epoch(broker_id) in (None, epoch):
                self._state.unread[broker_id] = epoch
        for broker_id, broker in registered.brokers.items():
            self._believe(broker)
            if self._state.admitted_epoch(broker_id) in (None, broker.epoch):
                self._state.brokers[broker_id] = broker
                self._loaded.events.append(BrokerRedescribed(self._now_ms, broker))

    def _believe(self, broker: Broker) -> None:
        """A broker whose admission may not be read was admitted as it is registered."""
        known = self._state.admitted.get(broker.broker_id)
        if known is not None and known.version == UNREAD:
            self._state.admitted[broker.broker_id] = Admitted(UNREAD, broker.epoch)

    def _deaths(self) -> list[Event]:
        """Whoever is named by a partition and not live died while nobody looked, or bounced."""
        state, registered = self._state, self._loaded.registered.brokers
        for broker_id in sorted({*state.brokers_named(), *state.admitted}):
            if broker_id not in state.brokers and broker_id not in state.unread:
                state.dying[broker_id] = state.admitted_epoch(broker_id) or 0
        returned = {broker_id: registered[broker_id] for broker_id in state.dying if broker_id in registered}
        return expand_deaths(state, state.dying, returned, self._now_ms)

    def _load_broker_configs(self) -> None:
        for name, entry in self._entries(keys.CONFIG_BROKERS):
            configs: Mapping[str, str] = UnreadSettings()
            try:
                configs = small.decode_config(entry.value)
            except BadValue as error:
                if entry.value is not FORBIDDEN:
                    self._loaded.findings.bad(entry.key, broken(entry.key, error))
            self._state.broker_configs[name] = OwnSettings(entry.version, configs)

    def _load_changes(self) -> None:
        """The number with which changes of settings go on."""
        store, timeout_s = self._store, self._timeout_s
        self._state.changes.next_number = next_in_sequence(store, keys.CONFIG_CHANGES, keys.CONFIG_CHANGE, timeout_s)

    # --- deletions

    def _load_deletions(self) -> None:
        """Those of known topics go on before anything else is decided; of the others the rules decide."""
        state = self._state
        for name, entry in self._entries(keys.DELETE_TOPICS):
            if name in state.topics and self._goes_on(name, entry):
                state.start_deletion(name, entry.version)
                self._loaded.events.append(TopicDeletionDue(self._now_ms, name))
            else:
                self._loaded.events.append(DeletionKeyRead(self._now_ms, name, entry.version))

    def _goes_on(self, name: str, entry: Entry) -> bool:
        """Whether the deletion of a topic goes on before anything is decided: what was begun does, at any rate; of the
        others those that can be ended."""
        state = self._state
        if entry.value is FORBIDDEN or UNREAD in [state.versions[number] for number in state.topics[name].numbers]:
            return has_stopped(state, name)
        return state.settings.delete_topic_enable or is_begun(state, name)

    def _load_reductions(self) -> None:
        for name, entry in self._entries(keys.DELETE_PARTITIONS):
            self._loaded.events += load_key(self._state, name, entry, self._now_ms)

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
                    said = forbidden(entry.key) if entry.value is FORBIDDEN else str(error)
                    self._loaded.findings.bad(entry.key, said)
        brokers = sorted({broker for broker, _ in self._state.intents.keys})
        self._loaded.events += [IntentsDue(self._now_ms, broker) for broker in brokers]

    # --- the legacy key

    def _load_legacy(self) -> None:
        """All that it names is in force; the lookout says when it is gone on with."""
        self._state.legacy.load(as_key(self._store.get(keys.REASSIGN_PARTITIONS, timeout_s=self._timeout_s)))

    # --- throttles

    def _load_throttles(self) -> None:
        """What is marked is taken back, unless something is being reassigned; decided after all that was found."""
        throttles = self._state.throttles
        slots: list[tuple[MarkSlot, MarkKind]] = [*((kind, kind) for kind in KINDS), *((OLD[k], k) for k in KINDS)]
        entries = self._store.get_many([path_of(slot) for slot, _ in slots], timeout_s=self._timeout_s)
        for (slot, kind), entry in zip(slots, entries, strict=True):
            if entry is not None:
                throttles.marks[slot] = mark = as_mark(kind, entry)
                if mark.problem is not None and mark.version != UNREAD:
                    self._loaded.findings.bad(entry.key, mark.problem)
        if throttles.is_marked:
            self._loaded.events.append(ThrottleRemovalDue(self._now_ms))

    # --- reading

    def _columns(self, paths: Sequence[str]) -> Columns:
        return self._store.get_columns(paths, timeout_s=self._timeout_s)

    def _entries(self, parent: str) -> Iterator[tuple[str, Entry]]:
        return read_children(self._store, parent, self._timeout_s)


def load(  # noqa: PLR0917 - what a term begins with, handed on
    store: ReadableStore,
    controller_id: int,
    controller_epoch: int,
    settings: Settings,
    now_ms: int,
    chance: Chance,
    timeout_s: float,
) -> Loaded:
    """The state of a term that was just won, loaded under its claimed token."""
    store.forget()
    state = ClusterState(controller_id, controller_epoch, settings)
    return Loader(store, state, now_ms, chance, timeout_s).load()
