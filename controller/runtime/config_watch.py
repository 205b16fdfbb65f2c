"""Which settings of topics and brokers were changed by others: hints -> reads -> events.

Kafka's tools write the config key first, then a notification below `/config/changes`; the key itself is watched, too. A
hint of either is looked up by version, so our own writes and repeated hints come to nothing. Of a key that cannot be
read the settings stay as they were last known, as UnreadSettings: they allow nothing that would have to be allowed.

Notifications are read and left, since brokers read them as well. What was seen 15 minutes ago goes when something is
looked at again, as Kafka's brokers do it: all but the newest, by whose number the next one is known.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from controller.codec import BadValue, keys, notifications, small
from controller.model.events import BrokerConfigRead, ChangesDue, ConfigKeyRead, Event
from controller.model.values import BROKERS, TOPICS, UnreadSettings
from controller.runtime.findings import Findings
from controller.runtime.readable import FORBIDDEN
from controller.runtime.services import Services
from controller.runtime.unreadable import broken
from controller.state import ClusterState
from stores.base import Entry
from stores.recipes import FENCE_OPS, next_in_sequence, number_in_sequence

PURGE_AFTER_MS: Final = 15 * 60_000  # Kafka's own
_PURGED_MAX: Final = 100  # in one Decision


class ConfigWatch:
    """The configs of one term."""

    def __init__(self, services: Services, state: ClusterState, findings: Findings) -> None:
        self._services = services
        self._state = state
        self._findings = findings
        self._brokers: dict[str, None] = {}
        self._all_brokers = False
        self._topics: dict[str, None] = {}
        self._all_topics = False
        self._changes: dict[str, None] = {}
        self._seen: dict[str, int] = {}  # notifications that are there: when they were seen first, in `elapsed_ms`
        self._all_changes = False

    @property
    def is_hinted(self) -> bool:
        """Whether something waits to be looked at."""
        alone = self._topics or self._brokers or self._changes
        return bool(alone or self._all_topics or self._all_brokers or self._all_changes)

    def hint(self, where: str) -> None:
        """Look again at `where`, if it is about settings."""
        if where == keys.CONFIG_CHANGES:
            self._all_changes = True
        elif where.startswith(keys.CONFIG_CHANGES + "/"):
            self._changes[where] = None
        elif where == keys.CONFIG_TOPICS:
            self._all_topics = True
        elif where.startswith(keys.CONFIG_TOPICS + "/"):
            self.topic_hinted(where.removeprefix(keys.CONFIG_TOPICS + "/"))
        elif where == keys.CONFIG_BROKERS:
            self._all_brokers = True
        elif where.startswith(keys.CONFIG_BROKERS + "/"):
            self._brokers[where.removeprefix(keys.CONFIG_BROKERS + "/")] = None

    def topic_hinted(self, name: str) -> None:
        """Look again at the settings of a topic."""
        self._topics[name] = None

    def look(self, now_ms: int) -> list[Event]:
        """What the hinted keys hold, where it is news. Raises what the store raises; `looked` ends it."""
        old: list[Event] = []
        if self._changes or self._all_changes:
            self._read_changes()
            old = self._old_changes(now_ms)
        return [*old, *self._brokers_news(now_ms), *self._topics_news(now_ms)]

    def _topics_news(self, now_ms: int) -> list[Event]:
        names = dict.fromkeys(self._state.topic_names()) if self._all_topics else self._topics
        known = [name for name in names if self._state.topic(name) is not None]
        if not known:
            return []
        paths = [keys.topic_config(name) for name in known]
        columns = self._services.store.get_columns(paths, timeout_s=self._services.read_timeout_s)
        found = zip(known, columns.values, columns.versions, strict=True)
        return [
            self._news(now_ms, name, value, 0 if value is None else version)
            for name, value, version in found
            if (0 if value is None else version) != self._state.config_version(name)
        ]

    def looked(self) -> None:
        """What `look` gave is going to be decided: the hints are done with."""
        self._topics, self._all_topics = {}, False
        self._brokers, self._all_brokers = {}, False

    def _read_changes(self) -> None:
        store, timeout_s = self._services.store, self._services.read_timeout_s
        paths = dict(self._changes)
        if self._all_changes:
            names = store.children(keys.CONFIG_CHANGES, timeout_s=timeout_s)
            paths |= {f"{keys.CONFIG_CHANGES}/{name}": None for name in names}
        entries = store.get_many(list(paths), timeout_s=timeout_s) if paths else []
        if self._all_changes:
            self._findings.below(keys.CONFIG_CHANGES, {})
        for path, entry in zip(paths, entries, strict=True):
            self._findings.good(path)
            if entry is None:
                self._seen.pop(path, None)
            else:
                self._seen.setdefault(path, self._services.elapsed_ms())
            number = number_in_sequence(keys.CONFIG_CHANGE, path.removeprefix(keys.CONFIG_CHANGES + "/"))
            if number is not None:
                self._state.changes.seen(number)
            if entry is not None and entry.value is not FORBIDDEN:
                self._change(entry)
        self._changes, self._all_changes = {}, False

    def _old_changes(self, now_ms: int) -> list[Event]:
        """Of many some at a time: the others go when something is looked at again."""
        before_ms = self._services.elapsed_ms() - PURGE_AFTER_MS
        newest = max(self._seen, default="")
        old = [path for path, seen_ms in self._seen.items() if seen_ms <= before_ms and path != newest]
        at_once = max(1, min(_PURGED_MAX, self._services.store.capabilities.commit_ops_max - FENCE_OPS))
        old = old[:at_once]
        for path in old:
            del self._seen[path]
        return [ChangesDue(now_ms, tuple(old))] if old else []

    def _change(self, entry: Entry) -> None:
        try:
            kind, name = notifications.decode_config_change(entry.value)
        except BadValue as error:
            self._findings.bad(entry.key, f"it is passed over: {error}")
            return
        if kind == TOPICS:
            self.topic_hinted(name)
        elif kind == BROKERS:
            self._brokers[name] = None

    def _news(self, now_ms: int, name: str, value: bytes | None, version: int) -> ConfigKeyRead:
        configs = self._read(keys.topic_config(name), value, self._state.topic_config(name))
        return ConfigKeyRead(now_ms, name, configs, version)

    def _brokers_news(self, now_ms: int) -> list[Event]:
        names = dict(self._brokers)
        store, timeout_s = self._services.store, self._services.read_timeout_s
        if self._all_brokers:
            names |= dict.fromkeys(store.children(keys.CONFIG_BROKERS, timeout_s=timeout_s))
            names |= dict.fromkeys(self._state.configured_brokers())
        if not names:
            return []
        columns = store.get_columns([keys.broker_config(name) for name in names], timeout_s=timeout_s)
        found = zip(names, columns.values, columns.versions, strict=True)
        return [
            self._broker_news(now_ms, name, value, 0 if value is None else version)
            for name, value, version in found
            if (0 if value is None else version) != self._state.broker_config_version(name)
        ]

    def _broker_news(self, now_ms: int, name: str, value: bytes | None, version: int) -> BrokerConfigRead:
        configs = self._read(keys.broker_config(name), value, self._state.broker_config(name))
        return BrokerConfigRead(now_ms, name, configs, version)

    def read(self, kind: str, name: str, now_ms: int) -> list[Event]:
        """What a key of settings holds that a commit of ours met; `kind` of its mark. Raises what the store raises."""
        key = keys.topic_config(name) if kind == "config" else keys.broker_config(name)
        entry = self._services.store.get(key, sync=True, timeout_s=self._services.read_timeout_s)
        value, version = (None, 0) if entry is None else (entry.value, entry.version)
        if kind == "config":
            return [self._news(now_ms, name, value, version)]
        return [self._broker_news(now_ms, name, value, version)]

    def count_changes(self) -> None:
        """The number of the next change, as the store has it now. Raises what the store raises."""
        store, timeout_s = self._services.store, self._services.read_timeout_s
        self._state.changes.seen(next_in_sequence(store, keys.CONFIG_CHANGES, keys.CONFIG_CHANGE, timeout_s) - 1)

    def _read(self, key: str, value: bytes | None, known: Mapping[str, str]) -> Mapping[str, str]:
        """The settings in `value` (None: the key is absent), or `known` where it cannot be read."""
        self._findings.good(key)
        try:
            return {} if value is None else small.decode_config(value)
        except BadValue as error:
            if value is not FORBIDDEN:
                self._findings.bad(key, broken(key, error))
            return UnreadSettings(known)
