"""Hints -> reads -> events. A hint says "look again at this key"; what is found there is a new event for the machine.

A topic's key is looked at by version first: our own writes are hinted, too. Of brokers all registrations are read
(`presence`).

No hint says that a key may be read that could not be: those are looked at again at times, and read when they can be.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from controller.codec import BadValue, keys, small
from controller.codec.names import NO_TOPIC, broker_in, is_topic
from controller.model.events import (
    BrokerRedescribed,
    DeletionKeyRead,
    Event,
    ReductionKeyRead,
)
from controller.model.records import UNREAD
from controller.model.values import TopicPartition
from controller.rules.registrations import came_and_went
from controller.runtime.config_watch import ConfigWatch
from controller.runtime.errands import Errands
from controller.runtime.legacy import LegacyWatch
from controller.runtime.loaded import Loaded
from controller.runtime.loader import UNKNOWN_EPOCH
from controller.runtime.presence import read_registrations
from controller.runtime.readable import read_children
from controller.runtime.reading import Reading
from controller.runtime.reductions import read_key as read_reduction
from controller.runtime.services import Services
from controller.state import ClusterState
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
        self.read = Reading(services, state, self.findings)
        self._brokers_hinted = False
        self.brokers_due = True  # compare what is registered with what is live
        self._topics_hinted: dict[str, None] = {}
        self._no_topics_hinted: dict[str, None] = {}  # names that are no topic's
        self._all_topics = False
        self._deletions_hinted = self._reductions_hinted = False
        self._states_hinted: dict[tuple[str, int], None] = {}
        self._admissions_hinted: dict[int, None] = {}
        self._recheck_ms = services.elapsed_ms() + RECHECK_MS
        self.legacy = LegacyWatch(services, state, self.findings)
        self.errands = Errands(services, state, self.read.states, self.findings)
        self.configs = ConfigWatch(services, state, self.findings)

    def next_due_ms(self) -> int | None:
        """When something is looked at again without a new hint, in `elapsed_ms`: at once where a commit gave cause."""
        if self._is_hinted:
            return self._services.elapsed_ms()
        times = [self._recheck_ms if self._has_to_recheck else None, self.legacy.next_due_ms()]
        return min((time for time in times if time is not None), default=None)

    @property
    def _is_hinted(self) -> bool:
        own = (self.brokers_due, self._deletions_hinted, self._reductions_hinted, self._topics_hinted)
        readable = (self._states_hinted, self._admissions_hinted)
        return any((*own, *readable)) or self.errands.is_hinted or self.configs.is_hinted

    @property
    def _has_to_recheck(self) -> bool:
        return bool(self._state.problems or self._services.store.forbidden or self.findings.under(_UNWATCHED))

    def hint(self, event: StoreEvent) -> None:
        """Remember what to look at."""
        where = event.key if isinstance(event, Changed) else event.prefix if isinstance(event, Resync) else ""
        if where.startswith(keys.BROKER_IDS):
            self._brokers_hinted = True
        elif where == keys.REASSIGN_PARTITIONS:
            self.legacy.hint()
        elif where.startswith(keys.DELETE_TOPICS):
            self._deletions_hinted = True
        elif where.startswith(keys.DELETE_PARTITIONS):
            self._reductions_hinted = True
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
        """A topic was found: a key that asks for its deletion, or its reduction, may have waited for it."""
        self._deletions_hinted = self._reductions_hinted = True

    def look(self) -> list[Event]:
        """Read what was hinted at; what was found. Raises what the store raises, having forgotten nothing."""
        now_ms, elapsed_ms = self._services.clock.now_ms(), self._services.elapsed_ms()
        is_recheck_due = self._has_to_recheck and elapsed_ms >= self._recheck_ms
        if is_recheck_due:
            self._hint_readable()
        if self._brokers_hinted:
            self._read_registrations()
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
        events += self._orders(now_ms)
        events += self.read.states([TopicPartition(*one) for one in self._states_hinted], now_ms)
        events += self._admissions(now_ms)
        if is_recheck_due:
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
        self._deletions_hinted = self._reductions_hinted = False
        self._states_hinted, self._admissions_hinted = {}, {}
        return events

    # --- what could not be read

    def _hint_readable(self) -> None:
        """What was forbidden and can be read now is looked at."""
        for key in self._services.store.look_again(self._services.read_timeout_s):
            of_state = keys.partition_of(key)
            if of_state is not None:
                self._states_hinted[of_state] = None
            elif key.startswith(keys.ADMITTED + "/"):
                self._admissions_hinted[broker_in(key.removeprefix(keys.ADMITTED + "/"))] = None
            else:
                self.hint(Changed(key))

    def _admissions(self, now_ms: int) -> list[Event]:
        """Where admissions stand that may be read again. Who is live was admitted meanwhile: its key is to say so."""
        events: list[Event] = []
        for broker_id in self._admissions_hinted:
            entry = self._get(keys.admitted(broker_id))
            live, known = self._state.brokers.get(broker_id), self._state.admitted.get(broker_id)
            if known is None or known.version != UNREAD:
                continue
            if entry is None:
                self._state.load_not_admitted(broker_id)
            else:
                self._state.load_admitted(broker_id, entry.version, _epoch(entry))
            if live is not None:
                events.append(BrokerRedescribed(now_ms, live))
        return events

    # --- brokers

    def _brokers(self, now_ms: int) -> list[Event]:
        return came_and_went(self._state, self._registered.brokers, self._registered.unread, now_ms)

    def read_brokers(self, now_ms: int) -> list[Event]:
        """Who came and who went, by what is registered now: at least as the commit saw it that found a broker there."""
        self._get(TOKEN_KEY)
        self._read_registrations()
        return self._brokers(now_ms)

    def _read_registrations(self) -> None:
        self._registered = read_registrations(self._services.store, self._services.read_timeout_s)
        self.findings.below(keys.BROKER_IDS, self._registered.problems)

    def _all_admitted(self) -> bool:
        live = self._state.brokers
        return all(b in live and live[b].epoch == found.epoch for b, found in self._registered.brokers.items())

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
        events: list[Event] = [*self.read.topics(changed, now_ms)]
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
        changed = [
            TopicPartition(name, number)
            for number, version, value in zip(numbers, columns.versions, columns.values, strict=True)
            if self._state.key_version(name, number).version != (version if value is not None else 0)
        ]
        return [*self.read.states(changed, now_ms)]

    def _is_news(self, name: str, version: int) -> bool:
        return self._state.key_version(name, None).version != version or self._state.unreadable(name) is not None

    def _orders(self, now_ms: int) -> list[Event]:
        """What others ask of topics and of partitions."""
        events = self._deletions(now_ms) if self._deletions_hinted else []
        return events + (self._reductions(now_ms) if self._reductions_hinted else [])

    def _deletions(self, now_ms: int) -> list[Event]:
        """Keys under /admin/delete_topics that are not as we know them."""
        entries = read_children(self._services.store, keys.DELETE_TOPICS, self._services.read_timeout_s)
        found = {name: entry.version for name, entry in entries}
        known = dict.fromkeys(self._state.unread_deletions, UNREAD)
        known |= {name: deletion.version for name, deletion in self._state.deletions.items()}
        names = [name for name, version in found.items() if known.get(name) != version]
        names += [name for name, version in known.items() if version and name not in found]
        return [DeletionKeyRead(now_ms, name, found.get(name, 0)) for name in names]

    def read_deletion(self, name: str, now_ms: int) -> DeletionKeyRead:
        """Whether somebody wants a topic to be deleted."""
        entry = self._get(keys.delete_topic(name))
        return DeletionKeyRead(now_ms, name, 0 if entry is None else entry.version)

    def _reductions(self, now_ms: int) -> list[Event]:
        """Keys under /admin/delete_topic_partitions that are not as we know them."""
        reducing = self._state.reducing
        known = {name: one.version for name, one in reducing.of.items()} | dict.fromkeys(reducing.unread, UNREAD)
        read = read_children(self._services.store, keys.DELETE_PARTITIONS, self._services.read_timeout_s)
        found = dict(read)
        events = [read_reduction(n, entry, now_ms) for n, entry in found.items() if known.get(n) != entry.version]
        lost = [name for name, version in known.items() if version and name not in found]
        return [*events, *(read_reduction(name, None, now_ms) for name in lost)]

    def read_reduction(self, name: str, now_ms: int) -> ReductionKeyRead:
        """Which partitions of a topic somebody wants to go."""
        return read_reduction(name, self._get(keys.delete_partitions(name)), now_ms)

    def _recheck(self, now_ms: int) -> list[Event]:
        unwatched = self.findings.under(_UNWATCHED)
        for path, is_there in self._are_there(unwatched) if unwatched else ():
            if not is_there:
                self.findings.good(path)
        forbidden_keys, problems = self._services.store.forbidden, list(self._state.problems)
        topics = [name for name, partition in problems if partition is None and keys.topic(name) not in forbidden_keys]
        states = [TopicPartition(name, partition) for name, partition in problems if partition is not None]
        states = [tp for tp in states if keys.state(tp.topic, tp.partition) not in forbidden_keys]
        return [*self.read.topics(topics, now_ms), *self.read.states(states, now_ms)]

    def _get(self, key: str) -> Entry | None:
        return self._services.store.get(key, sync=True, timeout_s=self._services.read_timeout_s)


def _epoch(entry: Entry) -> int:
    try:
        return small.decode_admitted(entry.value)
    except BadValue:
        return UNKNOWN_EPOCH
