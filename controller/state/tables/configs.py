"""Records about configs: read again, altered. Records that alter configs among other things may use ALTERED."""

from __future__ import annotations

from typing import Final

from ...model import records as r
from ...model.values import TOPICS
from ..batch import DirtyKey
from ..cluster import ClusterState
from .kinds import Apply, Dirty, Table, no_keys, nothing


def _set_config(state: ClusterState, record: r.ConfigChanged) -> None:
    state.batch.set(state.topics[record.topic], "configs", record.after)


def _set_broker(state: ClusterState, record: r.BrokerConfigChanged) -> None:
    state.batch.put(state.broker_configs, record.name, record.after)


def _alter(state: ClusterState, record: r.ConfigsAltered) -> None:
    entity = record.entity
    if entity.kind == TOPICS:
        state.batch.set(state.topics[entity.name], "configs", record.after)
    else:
        state.batch.put(state.broker_configs, entity.name, record.after)
    if state.changes.tell(entity):
        state.batch.undone_by(state.changes.take_back, entity)


def _altered_keys(state: ClusterState, record: r.ConfigsAltered, token: object) -> list[DirtyKey]:
    kind = "config" if record.entity.kind == TOPICS else "broker config"
    return [(kind, record.entity.name), ("change", record.entity)]


ALTERED: Final[tuple[Apply, Dirty]] = (_alter, _altered_keys)

TABLE: Final[Table] = {
    r.ConfigChanged: (_set_config, no_keys),
    r.BrokerConfigChanged: (_set_broker, no_keys),
    r.ConfigsAltered: ALTERED,
    r.ChangePurged: (nothing, lambda _, record, __: [("old change", record.key)]),
}
