"""Keys in which others ask for something: the legacy key, and errands."""

from __future__ import annotations

from typing import Final

from controller.model import records as r
from controller.state.batch import LEGACY, Mark
from controller.state.cluster import ClusterState
from controller.state.tables.kinds import Table, no_keys, nothing, undo_nothing


def _load_legacy(state: ClusterState, record: r.LegacySubmitted | r.LegacyKeyBroken) -> None:
    state.legacy.load(record.after)


def _unload_legacy(state: ClusterState, record: r.LegacySubmitted | r.LegacyKeyBroken, token: object) -> None:
    state.legacy.unload(record.before)


def _remove_entry(state: ClusterState, record: r.LegacyEntryRemoved) -> None:
    del state.legacy.entries[record.entry.name]


def _put_entry_back(state: ClusterState, record: r.LegacyEntryRemoved, token: object) -> None:
    state.legacy.entries[record.entry.name] = record.entry


def _entry_key(state: ClusterState, record: r.LegacyEntryRemoved, token: object) -> list[Mark]:
    return [LEGACY] if record.at_once else []


def _remove_legacy(state: ClusterState, record: r.LegacyKeyRemoved) -> None:
    state.legacy.is_there = False


def _unremove_legacy(state: ClusterState, record: r.LegacyKeyRemoved, token: object) -> None:
    state.legacy.is_there = True


def _change_legacy(state: ClusterState, record: r.LegacyKeyChanged) -> None:
    state.legacy.key = record.after


def _unchange_legacy(state: ClusterState, record: r.LegacyKeyChanged, token: object) -> None:
    state.legacy.key = record.before


def _legacy_key(state: ClusterState, record: r.Record, token: object) -> list[Mark]:
    return [LEGACY]


# --- errands


def _work_off(state: ClusterState, record: r.ErrandWorkedOff) -> int | None:
    known = state.worked_off.get(record.key)
    state.worked_off[record.key] = record.version
    return known


def _errand_back(state: ClusterState, record: r.ErrandWorkedOff, token: object) -> None:
    if isinstance(token, int):
        state.worked_off[record.key] = token
    else:
        del state.worked_off[record.key]


TABLE: Final[Table] = {
    r.LegacySubmitted: (_load_legacy, _unload_legacy, no_keys),
    r.LegacyEntryRemoved: (_remove_entry, _put_entry_back, _entry_key),
    r.LegacyKeyRewritten: (nothing, undo_nothing, _legacy_key),
    r.LegacyKeyRemoved: (_remove_legacy, _unremove_legacy, _legacy_key),
    r.LegacyKeyChanged: (_change_legacy, _unchange_legacy, _legacy_key),
    r.LegacyKeyBroken: (_load_legacy, _unload_legacy, no_keys),
    r.ErrandWorkedOff: (_work_off, _errand_back, lambda _, record, __: [("errand", record.key)]),
}
