"""Records about keys that hold requests: the legacy key, and notifications."""

from __future__ import annotations

from typing import Final

from ...model import records as r
from ..batch import LEGACY, DirtyKey
from ..cluster import ClusterState
from .kinds import Table, no_keys, nothing


def _load_legacy(state: ClusterState, record: r.LegacySubmitted | r.LegacyKeyBroken) -> None:
    state.batch.keep(state.legacy, "key", "entries", "is_there")
    state.legacy.load(record.after)


def _remove_entry(state: ClusterState, record: r.LegacyEntryRemoved) -> None:
    state.batch.take(state.legacy.entries, record.entry.name)


def _entry_key(state: ClusterState, record: r.LegacyEntryRemoved, token: object) -> list[DirtyKey]:
    return [LEGACY] if record.at_once else []


def _remove_legacy(state: ClusterState, record: r.LegacyKeyRemoved) -> None:
    state.batch.set(state.legacy, "is_there", value=False)


def _change_legacy(state: ClusterState, record: r.LegacyKeyChanged) -> None:
    state.batch.set(state.legacy, "key", record.after)


def _legacy_key(state: ClusterState, record: r.Record, token: object) -> list[DirtyKey]:
    return [LEGACY]


TABLE: Final[Table] = {
    r.LegacySubmitted: (_load_legacy, no_keys),
    r.LegacyEntryRemoved: (_remove_entry, _entry_key),
    r.LegacyKeyRewritten: (nothing, _legacy_key),
    r.LegacyKeyRemoved: (_remove_legacy, _legacy_key),
    r.LegacyKeyChanged: (_change_legacy, _legacy_key),
    r.LegacyKeyBroken: (_load_legacy, no_keys),
    r.NotificationWorkedOff: (nothing, lambda _, record, __: [("notification", record.key)]),
}
