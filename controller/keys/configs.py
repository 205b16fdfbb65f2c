"""The keys of configs: of topics, of brokers, and of users and client ids, which have quotas.

Kafka's tools write the config key first, then a notification (`changes`); the key itself is watched, too. A hint of
either is looked up by version, so our own writes and repeated hints come to nothing. Of a key that cannot be read the
configs stay as they were last known, as UnreadConfigs: they allow nothing that would have to be allowed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from ...stores.base import Depth
from ...stores.checks import OP_BYTES_FIXED, parent
from ...stores.recipes import TOKEN_KEY
from ..codec import BadValue, keys, small
from ..model.events import BrokerConfigRead, ConfigKeyRead, Event
from ..model.records import KeyAt
from ..model.values import BROKERS, ConfigEntity, UnreadConfigs
from .base import GONE, PATH_BYTES, Content, KeyContext, KeyKind, name_of
from .unreadable import Unreadable


class TopicConfigKeys(KeyKind):
    """`key_id`: the topic, which may have been deleted."""

    unreadable = (
        Unreadable(
            "configs of a topic",
            "the known configs stay in force, except unclean election, which is off there whatever the defaults say",
        ),
    )
    name, path, read_event = "config", staticmethod(keys.topic_config), (ConfigKeyRead, "topic")
    roots = ((keys.CONFIG_TOPICS, Depth.VALUES),)

    def look(self, paths: Collection[str], now_ms: int) -> list[Event]:
        is_all = keys.CONFIG_TOPICS in paths
        names = self.state.topic_names() if is_all else [n for n in map(name_of, paths) if self.state.topic(n)]
        found = self.context.columns(list(map(keys.topic_config, names)))
        return [self._news(now_ms, at, value) for at, value in found if not self.state.is_known(at)]

    def _news(self, now_ms: int, at: KeyAt, value: bytes | None) -> ConfigKeyRead:
        name = name_of(at.path)
        configs = config_in(self.context, at.path, value, self.state.topic_config(name))
        return ConfigKeyRead(now_ms, name, configs, at)

    def reread(self, key_ids: Sequence[str], now_ms: int) -> list[Event]:
        super().reread([key_id for key_id in key_ids if not self._is_read(key_id)], now_ms)
        found = _read_again(self.context, [keys.topic_config(key_id) for key_id in key_ids if self._is_read(key_id)])
        return [self._news(now_ms, at, value) for at, value in found]

    def _is_read(self, key_id: str) -> bool:
        """Those of a topic that is made or deleted are only written over."""
        return self.state.topic(key_id) is not None and not self.state.is_deleting(key_id)

    def cost_max(self, key_id: str) -> int:
        row = self.state.topics.get(key_id)
        return PATH_BYTES + len(key_id) + (0 if row is None else len(small.encode_config(row.configs)))

    def content(self, key_id: str) -> Content:
        row = self.state.topics.get(key_id)
        return GONE if row is None else small.encode_config(row.configs)


class EntityConfigKeys(KeyKind):
    """`key_id`: a broker, the defaults of all brokers, a user or a client id."""

    unreadable = (
        Unreadable(
            "defaults of all brokers",
            "the known configs stay in force, except unclean election, which is off where a topic itself does not "
            "allow it",
        ),
        Unreadable("configs of a broker, user or client id", "the known configs stay in force, and cannot be altered"),
    )
    name, read_event = "entity config", (BrokerConfigRead, "entity")
    roots = tuple((root, Depth.VALUES) for root in (keys.CONFIG_BROKERS, keys.CONFIG_USERS, keys.CONFIG_CLIENTS))

    def load(self, now_ms: int) -> list[Event]:  # noqa: ARG002
        for root, _ in self.roots:
            for _, entry in self.context.below(root):
                configs = config_in(self.context, entry.key, entry.value, {})
                self.state.versions.put(entry.key, entry.version)
                self.state.load_entity_config(_entity(entry.key), configs)
        return []

    def look(self, paths: Collection[str], now_ms: int) -> list[Event]:
        found = self.named(paths)
        if any(root in paths for root, _ in self.roots):
            found |= dict.fromkeys(map(self.key, self.state.entity_configs))
        return [
            self._news(now_ms, at, value)
            for at, value in self.context.columns(list(found))
            if not self.state.is_known(at)
        ]

    def _news(self, now_ms: int, at: KeyAt, value: bytes | None) -> BrokerConfigRead:
        entity = _entity(at.path)
        configs = config_in(self.context, at.path, value, self.state.entity_config(entity))
        return BrokerConfigRead(now_ms, entity.name, configs, at, entity.kind)

    def reread(self, key_ids: Sequence[ConfigEntity], now_ms: int) -> list[Event]:
        found = _read_again(self.context, list(map(self.key, key_ids)))
        return [self._news(now_ms, at, value) for at, value in found]

    def cost_max(self, key_id: ConfigEntity) -> int:
        return OP_BYTES_FIXED + len(self.key(key_id)) + len(small.encode_config(self.state.entity_config(key_id)))

    def key(self, key_id: ConfigEntity) -> str:
        return keys.config(key_id.kind, key_id.name)

    def content(self, key_id: ConfigEntity) -> Content:
        configs = self.state.entity_config(key_id)
        return small.encode_config(configs) if configs or key_id.kind == BROKERS else GONE


def _entity(path: str) -> ConfigEntity:
    return ConfigEntity(name_of(parent(path)), name_of(path))


def _read_again(context: KeyContext, paths: Sequence[str]) -> Iterator[tuple[KeyAt, bytes | None]]:
    """Keys and values, at least as new as our last commit."""
    context.get(TOKEN_KEY)
    return context.columns(paths)


def config_in(context: KeyContext, key: str, value: bytes | None, known: Mapping[str, str]) -> Mapping[str, str]:
    """The configs in `value` (None: the key is absent), or `known` where it cannot be read."""
    context.findings.good(key)
    try:
        return {} if value is None else small.decode_config(value)
    except BadValue as error:
        context.findings.bad(key, unread_config(key).said(error))
        return UnreadConfigs(known)


def unread_config(key: str) -> Unreadable:
    if key.startswith(keys.CONFIG_TOPICS):
        return TopicConfigKeys.unreadable[0]
    return EntityConfigKeys.unreadable[key != keys.BROKER_DEFAULTS]
