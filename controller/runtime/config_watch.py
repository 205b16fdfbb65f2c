"""Which settings of topics, and defaults of all brokers, were changed by others: hints -> reads -> events.

Kafka's tools write the config key first, then a notification below `/config/changes`; the key itself is watched, too. A
hint of either is looked up by version, so our own writes and repeated hints come to nothing. Notifications are read and
left: brokers read them as well, and whoever writes them purges them. Of a key that cannot be read the settings stay as
they were last known.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from controller.codec import BadValue, keys, notifications, small
from controller.model.events import BrokerDefaultsRead, ConfigKeyRead, Event
from controller.runtime.findings import Findings
from controller.runtime.services import Services
from controller.state import ClusterState
from stores.base import Entry

_TOPICS: Final = "topics"
_BROKER_DEFAULTS: Final = ("brokers", "<default>")


class ConfigWatch:
    """The configs of one term."""

    def __init__(self, services: Services, state: ClusterState, findings: Findings) -> None:
        self._services = services
        self._state = state
        self._findings = findings
        self._defaults_hinted = False
        self._topics: dict[str, None] = {}
        self._all_topics = False
        self._changes: dict[str, None] = {}
        self._all_changes = False

    @property
    def is_hinted(self) -> bool:
        """Whether something waits to be looked at."""
        return bool(self._topics or self._changes or self._all_topics or self._all_changes or self._defaults_hinted)

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
        elif where == keys.BROKER_DEFAULTS:
            self._defaults_hinted = True

    def topic_hinted(self, name: str) -> None:
        """Look again at the settings of a topic."""
        self._topics[name] = None

    def look(self, now_ms: int) -> list[Event]:
        """What the hinted keys hold, where it is news. Raises what the store raises; `looked` ends it."""
        if self._changes or self._all_changes:
            self._read_changes()
        return [*self._defaults_news(now_ms), *self._topics_news(now_ms)]

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
        self._topics, self._all_topics, self._defaults_hinted = {}, False, False

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
            if entry is not None:
                self._change(entry)
        self._changes, self._all_changes = {}, False

    def _change(self, entry: Entry) -> None:
        try:
            kind, name = notifications.decode_config_change(entry.value)
        except BadValue as error:
            self._findings.bad(entry.key, f"it is passed over: {error}")
            return
        if kind == _TOPICS:
            self.topic_hinted(name)
        elif (kind, name) == _BROKER_DEFAULTS:
            self._defaults_hinted = True

    def _news(self, now_ms: int, name: str, value: bytes | None, version: int) -> ConfigKeyRead:
        configs = self._read(keys.topic_config(name), value, self._state.topic_config(name))
        return ConfigKeyRead(now_ms, name, configs, version)

    def _defaults_news(self, now_ms: int) -> list[Event]:
        if not self._defaults_hinted:
            return []
        entry = self._services.store.get(keys.BROKER_DEFAULTS, sync=True, timeout_s=self._services.read_timeout_s)
        version = 0 if entry is None else entry.version
        if version == self._state.broker_defaults_version:
            return []
        value = None if entry is None else entry.value
        configs = self._read(keys.BROKER_DEFAULTS, value, self._state.broker_defaults)
        return [BrokerDefaultsRead(now_ms, configs, version)]

    def _read(self, key: str, value: bytes | None, known: Mapping[str, str]) -> Mapping[str, str]:
        """The settings in `value` (None: the key is absent), or `known` where it cannot be read."""
        self._findings.good(key)
        try:
            return {} if value is None else small.decode_config(value)
        except BadValue as error:
            self._findings.bad(key, str(error))
            return known
