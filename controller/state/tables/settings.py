"""Settings: read anew, altered. What other records alter as well may use ALTERED."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from controller.model import records as r
from controller.model.values import TOPICS, ConfigEntity
from controller.state.batch import Mark
from controller.state.cluster import ClusterState
from controller.state.rows import OwnSettings
from controller.state.tables.kinds import Apply, Dirty, Table, Undo, no_keys, nothing, undo_nothing


def _set_config(state: ClusterState, record: r.ConfigChanged) -> None:
    row = state.topics[record.topic]
    row.configs, row.config_version = record.after, record.version


def _unset_config(state: ClusterState, record: r.ConfigChanged, token: object) -> None:
    row = state.topics[record.topic]
    row.configs, row.config_version = record.before, record.version_before


def _set_broker(state: ClusterState, record: r.BrokerConfigChanged) -> OwnSettings | None:
    before = state.broker_configs.get(record.name)
    state.broker_configs[record.name] = OwnSettings(record.version, record.after)
    return before


def _unset_broker(state: ClusterState, record: r.BrokerConfigChanged, token: object) -> None:
    _own_again(state, record.name, token)


def _own_again(state: ClusterState, name: str, token: object) -> None:
    if isinstance(token, OwnSettings):
        state.broker_configs[name] = token
    else:
        del state.broker_configs[name]


# --- altered here


def _alter(state: ClusterState, record: r.ConfigsAltered) -> tuple[OwnSettings | None, bool]:
    entity = record.entity
    own = state.broker_configs.get(entity.name) if entity.kind != TOPICS else None
    _put(state, entity, record.after)
    return own, state.changes.tell(entity)


def _unalter(state: ClusterState, record: r.ConfigsAltered, token: object) -> None:
    assert isinstance(token, tuple)
    own, is_told_first = token
    if record.entity.kind == TOPICS:
        _put(state, record.entity, record.before)
    else:
        _own_again(state, record.entity.name, own)
    if is_told_first:
        state.changes.take_back(record.entity)


def _put(state: ClusterState, entity: ConfigEntity, configs: Mapping[str, str]) -> None:
    if entity.kind == TOPICS:
        state.topics[entity.name].configs = configs
    else:
        state.broker_configs[entity.name] = OwnSettings(state.broker_config_version(entity.name), configs)


def _altered_keys(state: ClusterState, record: r.ConfigsAltered, token: object) -> list[Mark]:
    kind = "config" if record.entity.kind == TOPICS else "broker config"
    return [(kind, record.entity.name), ("change", record.entity)]


ALTERED: Final[tuple[Apply, Undo, Dirty]] = (_alter, _unalter, _altered_keys)

TABLE: Final[Table] = {
    r.ConfigChanged: (_set_config, _unset_config, no_keys),
    r.BrokerConfigChanged: (_set_broker, _unset_broker, no_keys),
    r.ConfigsAltered: ALTERED,
    r.ChangePurged: (nothing, undo_nothing, lambda _, record, __: [("old change", record.key)]),
}
