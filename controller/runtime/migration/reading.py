"""The reads of a migration in both stores: its stage, and the registered brokers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import attrs

from ....stores.base import Entry, Expect, MetadataStore, as_read
from ....stores.recipes import EPOCH_KEY, LEADER_KEY
from ...codec import keys, small
from ...codec.migration import MOVED, Marker, decode_holder, decode_marker, decode_origin
from ...codec.text import BadValue
from ...keys.base import read_children
from ...migration import MigrationRefused, Stage, stage_of

CALL_TIMEOUT_S: Final = 120.0


@attrs.frozen
class Sides:
    """Both markers and their versions."""

    stage: Stage
    source: Marker | None
    source_at: Expect
    target: Marker | None
    target_at: Expect


def sides_of(
    source: MetadataStore,
    target: MetadataStore,
    target_entries: Sequence[Entry] | None = None,
    *,
    migration: str | None = None,
) -> Sides:
    """The stage of the migration from `source` to `target`. `target_entries`: the content of the target, if it was just
    read. `migration`: the one of this run; refused if there is another one, or none any more. Raises MigrationRefused
    and the stores' errors."""
    here, there = read(source, keys.MIGRATION), read(target, keys.MIGRATION)
    markers = _marker(here, "FROM"), _marker(there, "TO")
    if migration is not None and (markers[0] is None or markers[0].migration != migration):
        raise MigrationRefused("another command aborted this migration: this run ends")
    # Whether the new store is in use matters only before the migration has begun on the old side.
    is_empty = here is None and not any(
        map(_is_in_use, entries_of(target) if target_entries is None else target_entries)
    )
    return Sides(
        stage_of(*markers, is_empty=is_empty, origin=_origin(target, markers[0])),
        markers[0],
        as_read(here),
        markers[1],
        as_read(there),
    )


def _origin(target: MetadataStore, source: Marker | None) -> str | None:
    """The migration that released the new store. Read only for a finished one."""
    entry = None if source is None or source.phase != MOVED else read(target, keys.ORIGIN)
    return None if entry is None else decode_origin(entry.value)


def _marker(entry: Entry | None, side: str) -> Marker | None:
    if entry is None:
        return None
    try:
        return decode_marker(entry.value)
    except BadValue as error:
        raise MigrationRefused(f"{keys.MIGRATION} of {side} cannot be read: {error}") from None


def _is_in_use(entry: Entry) -> bool:
    """Whether a key shows that the new store is in use: not a host's registration, nor the first keys of a
    migration."""
    if entry.owner is not None or entry.key == keys.MIGRATION:
        return False
    return entry.key != LEADER_KEY or decode_holder(entry.value) is None


def is_taken_over(sides: Sides, target: MetadataStore) -> bool:
    """Whether a controller has led over the new store."""
    if sides.stage is not Stage.GIVEN:
        return sides.stage is Stage.DONE
    epoch = read(target, EPOCH_KEY)
    assert sides.target is not None
    return epoch is None or epoch.value != b"%d" % (sides.target.controller_epoch or 0)


def entries_of(store: MetadataStore) -> tuple[Entry, ...]:
    """The whole content of the store."""
    return store.snapshot("/", timeout_s=CALL_TIMEOUT_S).entries


def read(store: MetadataStore, key: str) -> Entry | None:
    """A key by a linearizable read."""
    return store.get(key, sync=True, timeout_s=CALL_TIMEOUT_S)


def catch_up(*stores: MetadataStore) -> None:
    """Make all later reads include everything written before. Reads without `sync` may be answered by a server that
    lags (ZooKeeper's followers)."""
    for store in stores:
        read(store, EPOCH_KEY)


# --- brokers


def registered(store: MetadataStore) -> frozenset[int]:
    """The registered brokers."""
    return frozenset(map(int, filter(_is_id, store.children(keys.BROKER_IDS, timeout_s=CALL_TIMEOUT_S))))


def created_epochs(store: MetadataStore) -> dict[int, int]:
    """The epoch of each registered broker."""
    found = read_children(store, keys.BROKER_IDS, CALL_TIMEOUT_S)
    return {int(name): entry.created for name, entry in found if _is_id(name)}


def admitted_epochs(store: MetadataStore) -> dict[int, int]:
    """The latest admitted epoch of each broker; -1, which no registration has, if it cannot be read."""
    found: dict[int, int] = {}
    for name, entry in read_children(store, keys.ADMITTED, CALL_TIMEOUT_S):
        if _is_id(name):
            try:
                found[int(name)] = small.decode_admitted(entry.value)
            except BadValue:
                found[int(name)] = -1
    return found


def _is_id(name: str) -> bool:
    return name.isascii() and name.isdigit()
