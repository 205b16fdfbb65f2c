"""The keys of configs: of topics, and of brokers.

Kafka's tools write the config key first, then a notification (`changes`); the key itself is watched, too. A hint of
either is looked up by version, so our own writes and repeated hints come to nothing. Of a key that cannot be read the
configs stay as they were last known, as UnreadConfigs: they allow nothing that would have to be allowed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from ...stores.base import Depth, Op, Put
from ...stores.checks import OP_BYTES_FIXED
from ...stores.recipes import TOKEN_KEY
from ..codec import BadValue, keys, small
from ..model.events import BrokerConfigRead, ConfigKeyRead, Event
from ..model.values import UnreadConfigs
from .base import PATH_BYTES, Ground, KeyKind, gone, name_of
from .unreadable import Unreadable


class TopicConfigKeys(KeyKind):
    """`of`: the topic, which may have been deleted."""

    unreadable = (
        Unreadable(
            "configs of a topic",
            "the known configs stay in force, except unclean election, which is off there whatever the defaults say",
        ),
    )
    dirty, path, told = "config", staticmethod(keys.topic_config), (ConfigKeyRead, "topic")
    roots = ((keys.CONFIG_TOPICS, Depth.VALUES),)

    def look(self, paths: Collection[str], now_ms: int) -> list[Event]:
        is_all = keys.CONFIG_TOPICS in paths
        names = self.state.topic_names() if is_all else [n for n in map(name_of, paths) if self.state.topic(n)]
        found = self.ground.columns(list(map(keys.topic_config, names)))
        return [
            self._news(now_ms, name_of(path), value, version)
            for path, value, version in found
            if version != self.state.config_version(name_of(path))
        ]

    def _news(self, now_ms: int, name: str, value: bytes | None, version: int) -> ConfigKeyRead:
        configs = config_in(self.ground, keys.topic_config(name), value, self.state.topic_config(name))
        return ConfigKeyRead(now_ms, name, configs, version)

    def reread(self, ofs: Sequence[str], now_ms: int) -> list[Event]:
        super().reread([of for of in ofs if not self.is_altered(of)], now_ms)
        found = _read_again(self.ground, [keys.topic_config(of) for of in ofs if self.is_altered(of)])
        return [self._news(now_ms, name_of(path), value, version) for path, value, version in found]

    def is_altered(self, of: str) -> bool:
        """Those of a topic that is made or deleted are only written over."""
        return self.state.topic(of) is not None and not self.state.is_deleting(of)

    def cost_max(self, of: str) -> int:
        row = self.state.topics.get(of)
        return PATH_BYTES + len(of) + (0 if row is None else len(small.encode_config(row.configs)))

    def op(self, of: str, key: str) -> Op | None:
        row = self.state.topics.get(of)
        if row is None:
            version = self.state.deletions[of].config_version
            return gone(key, self.ground.at(key, version))
        return Put(key, small.encode_config(row.configs), self.ground.at(key, row.config_version))

    def stands(self, of: str, version: int) -> None:
        self.state.config_stands(of, version)


class BrokerConfigKeys(KeyKind):
    """`of`: a broker's id in decimal, or "<default>"."""

    unreadable = (
        Unreadable(
            "defaults of all brokers",
            "the known configs stay in force, except unclean election, which is off where a topic itself does not "
            "allow it",
        ),
        Unreadable("configs of a broker", "the known configs stay in force, and cannot be altered"),
    )
    dirty, path, told = "broker config", staticmethod(keys.broker_config), (BrokerConfigRead, "name")
    roots = ((keys.CONFIG_BROKERS, Depth.VALUES),)

    def load(self, now_ms: int) -> list[Event]:  # noqa: ARG002
        for name, entry in self.ground.below(keys.CONFIG_BROKERS):
            configs = config_in(self.ground, entry.key, entry.value, {})
            self.state.load_broker_config(name, entry.version, configs)
        return []

    def look(self, paths: Collection[str], now_ms: int) -> list[Event]:
        found = self.named(paths)
        if keys.CONFIG_BROKERS in paths:
            found |= dict.fromkeys(map(keys.broker_config, self.state.configured_brokers()))
        return [
            self._news(now_ms, name_of(path), value, version)
            for path, value, version in self.ground.columns(list(found))
            if version != self.state.broker_config_version(name_of(path))
        ]

    def _news(self, now_ms: int, name: str, value: bytes | None, version: int) -> BrokerConfigRead:
        configs = config_in(self.ground, keys.broker_config(name), value, self.state.broker_config(name))
        return BrokerConfigRead(now_ms, name, configs, version)

    def reread(self, ofs: Sequence[str], now_ms: int) -> list[Event]:
        found = _read_again(self.ground, list(map(keys.broker_config, ofs)))
        return [self._news(now_ms, name_of(path), value, version) for path, value, version in found]

    def is_altered(self, of: str) -> bool:  # noqa: ARG002
        return True

    def cost_max(self, of: str) -> int:
        return OP_BYTES_FIXED + len(keys.broker_config(of)) + len(self._value(of))

    def op(self, of: str, key: str) -> Op | None:
        return Put(key, self._value(of), self.ground.at(key, self.state.broker_config_version(of)))

    def _value(self, of: str) -> bytes:
        return small.encode_config(self.state.broker_config(of))

    def stands(self, of: str, version: int) -> None:
        self.state.broker_config_stands(of, version)


def _read_again(ground: Ground, paths: Sequence[str]) -> Iterator[tuple[str, bytes | None, int]]:
    """Keys that stand where they are read from now on."""
    for path in paths:
        ground.found.pop(path, None)
    ground.get(TOKEN_KEY)
    return ground.columns(paths)


def config_in(ground: Ground, key: str, value: bytes | None, known: Mapping[str, str]) -> Mapping[str, str]:
    """The configs in `value` (None: the key is absent), or `known` where it cannot be read."""
    ground.findings.good(key)
    try:
        return {} if value is None else small.decode_config(value)
    except BadValue as error:
        ground.findings.bad(key, unread_config(key).said(error))
        return UnreadConfigs(known)


def unread_config(key: str) -> Unreadable:
    """What such a key of configs means."""
    if key.startswith(keys.CONFIG_TOPICS):
        return TopicConfigKeys.unreadable[0]
    return BrokerConfigKeys.unreadable[key != keys.BROKER_DEFAULTS]
