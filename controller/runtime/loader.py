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
from controller.model.values import Settings, UnreadSettings
from controller.rules.brokers import expand_deaths
from controller.rules.takeover import deletion_goes_on, died, reduction_found
from controller.runtime.clock import Chance
from controller.runtime.collector import collector_off, many_stay
from controller.runtime.findings import Findings
from controller.runtime.legacy import as_key
from controller.runtime.loaded import Loaded
from controller.runtime.presence import Registrations, read_registrations
from controller.runtime.readable import FORBIDDEN, ReadableStore, read_children
from controller.runtime.reductions import read_key
from controller.runtime.topic_load import load_topics
from controller.runtime.unreadable import broken, forbidden
from controller.runtime.writer import FIXED_OPS
from controller.runtime.written_throttles import as_mark, path_of
from controller.state import ClusterState
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
                self._state.load_admitted(broker_id, entry.version, UNKNOWN_EPOCH)
                if entry.value is not FORBIDDEN:
                    self._state.load_admitted(broker_id, entry.version, small.decode_admitted(entry.value))
            except BadValue as error:
                self._loaded.findings.bad(entry.key, str(error))
        registered = self._loaded.registered = read_registrations(self._store, self._timeout_s)
        self._loaded.findings.below(keys.BROKER_IDS, registered.problems)
        for broker_id, epoch in registered.unread.items():
            self._state.load_unread_broker(broker_id, epoch)
        live = [broker for broker in registered.brokers.values() if self._state.load_broker(broker)]
        self._loaded.events += [BrokerRedescribed(self._now_ms, broker) for broker in live]

    def _deaths(self) -> list[Event]:
        dead, registered = died(self._state), self._loaded.registered.brokers
        self._state.load_dying(dead)
        returned = {broker_id: registered[broker_id] for broker_id in dead if broker_id in registered}
        return expand_deaths(self._state, dead, returned, self._now_ms)

    def _load_broker_configs(self) -> None:
        for name, entry in self._entries(keys.CONFIG_BROKERS):
            configs: Mapping[str, str] = UnreadSettings()
            try:
                configs = small.decode_config(entry.value)
            except BadValue as error:
                if entry.value is not FORBIDDEN:
                    self._loaded.findings.bad(entry.key, broken(entry.key, error))
            self._state.load_broker_config(name, entry.version, configs)

    def _load_changes(self) -> None:
        """The number with which changes of settings go on."""
        store, timeout_s = self._store, self._timeout_s
        number = next_in_sequence(store, keys.CONFIG_CHANGES, keys.CONFIG_CHANGE, timeout_s)
        self._state.load_change_number(number)

    # --- deletions

    def _load_deletions(self) -> None:
        """Those of known topics go on before anything else is decided; of the others the rules decide."""
        state = self._state
        for name, entry in self._entries(keys.DELETE_TOPICS):
            if name in state.topics and deletion_goes_on(state, name, is_forbidden=entry.value is FORBIDDEN):
                state.start_deletion(name, entry.version)
                self._loaded.events.append(TopicDeletionDue(self._now_ms, name))
            else:
                self._loaded.events.append(DeletionKeyRead(self._now_ms, name, entry.version))

    def _load_reductions(self) -> None:
        for name, entry in self._entries(keys.DELETE_PARTITIONS):
            taken, events = reduction_found(self._state, read_key(name, entry, self._now_ms))
            if taken is not None:
                self._state.load_reduction(name, taken.version, taken.entries, taken.extra)
            self._loaded.events += events

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
                mark = as_mark(kind, entry)
                self._state.load_throttle_mark(slot, mark)
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
    keys_at_once = max(1, store.capabilities.commit_ops_max - FIXED_OPS)
    state = ClusterState(controller_id, controller_epoch, settings, keys_at_once)
    return Loader(store, state, now_ms, chance, timeout_s).load()
