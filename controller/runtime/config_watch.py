"""Which settings of topics were changed by others: hints -> reads -> events.

Kafka's tools write the config key first, then a notification below `/config/changes`; the key itself is watched, too. A
hint of either is looked up by version, so our own writes and repeated hints come to nothing. Notifications are read and
left: brokers read them as well, and whoever writes them purges them.
"""

from __future__ import annotations

from controller.codec import BadValue, keys, notifications, small
from controller.model.events import ConfigKeyRead
from controller.runtime.services import Services
from controller.state import ClusterState

_TOPICS = "topics"


class ConfigWatch:
    """The configs of one term. `findings` is shared with whoever loaded: a key that can be read again is none."""

    def __init__(self, services: Services, state: ClusterState, findings: dict[str, str]) -> None:
        self._services = services
        self._state = state
        self._loaded_findings = findings
        self.findings: dict[str, str] = {}
        self._topics: dict[str, None] = {}
        self._all_topics = False
        self._changes: dict[str, None] = {}
        self._all_changes = False

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

    def topic_hinted(self, name: str) -> None:
        """Look again at the settings of a topic."""
        self._topics[name] = None

    def look(self, now_ms: int) -> list[ConfigKeyRead]:
        """What the hinted keys hold, where it is news. Raises what the store raises; `looked` ends it."""
        if self._changes or self._all_changes:
            self._read_changes()
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

    def _read_changes(self) -> None:
        store, timeout_s = self._services.store, self._services.read_timeout_s
        paths = dict(self._changes)
        if self._all_changes:
            names = store.children(keys.CONFIG_CHANGES, timeout_s=timeout_s)
            paths |= {f"{keys.CONFIG_CHANGES}/{name}": None for name in names}
        self.findings.pop(keys.CONFIG_CHANGES, None)
        for entry in store.get_many(list(paths), timeout_s=timeout_s) if paths else ():
            if entry is None:
                continue
            try:
                kind, name = notifications.decode_config_change(entry.value)
            except BadValue as error:
                self.findings[keys.CONFIG_CHANGES] = f"{entry.key} is passed over: {error}"
                continue
            if kind == _TOPICS:
                self.topic_hinted(name)
        self._changes, self._all_changes = {}, False

    def _news(self, now_ms: int, name: str, value: bytes | None, version: int) -> ConfigKeyRead:
        """Of a key that cannot be read the settings stay as they were last known."""
        key = keys.topic_config(name)
        try:
            configs = {} if value is None else small.decode_config(value)
        except BadValue as error:
            self.findings[key] = str(error)
            return ConfigKeyRead(now_ms, name, self._state.topic_config(name), version)
        self.findings.pop(key, None)
        self._loaded_findings.pop(key, None)
        return ConfigKeyRead(now_ms, name, configs, version)
