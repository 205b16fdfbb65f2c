"""The steps from the fence on: the old store is closed for controllers, and the new one is released once it is
complete.

Each step may be repeated after a crash: what is done already is not written again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import attrs

from ....stores.base import ABSENT, Check, Delete, Entry, Expect, MetadataStore, Op, Put, as_read
from ....stores.recipes import (
    EPOCH_KEY,
    LEADER_KEY,
    TOKEN_KEY,
    Contested,
    ElectedTerm,
    Fence,
    Token,
    decode_epoch,
    hold,
)
from ...codec import keys, small
from ...codec.migration import (
    COMPLETE,
    COPYING,
    FENCED,
    Marker,
    Stamp,
    decode_holder,
    decode_seals,
    encode_holder,
    encode_marker,
    encode_origin,
    encode_seals,
)
from ...codec.orders import FORMAT_KEY, decode_format, encode_format
from ...codec.text import BadValue
from ...keys.base import read_children
from ...migration import Change, MigrationRefused
from .reading import (
    CALL_TIMEOUT_S,
    Sides,
    admitted_epochs,
    catch_up,
    created_epochs,
    read,
)

MARKER_KNOWN: Final = 2  # the first version of controllers that handles the marker of a migration


def write(store: MetadataStore, *ops: Op) -> None:
    """One commit."""
    store.commit(ops, timeout_s=CALL_TIMEOUT_S)


def admissions(source: MetadataStore, target: MetadataStore) -> dict[int, int] | None:
    """The epoch under which each live broker counts as admitted in the new store: that of its registration there, or 0,
    which no registration has. With 0, a restart whose consequences are not decided yet is handled as a death in the new
    store too. None if a live broker is not registered in the new store.

    The new store is read first: a restarted broker registers in the old store first (`docs/migrating.md`), so its new
    registration there cannot be missed while the one in the new store is seen.
    """
    catch_up(target)
    created = created_epochs(target)
    catch_up(source)
    live, admitted = created_epochs(source), admitted_epochs(source)
    if not live.keys() <= created.keys():
        return None
    return {broker: created[broker] if admitted.get(broker, epoch) == epoch else 0 for broker, epoch in live.items()}


def fence(source: MetadataStore, sides: Sides, brokers: Mapping[int, int], now_ms: int) -> int:
    """End the leadership in the old store and record that in its marker, in one commit; return the epoch."""
    marker, at = sides.source, sides.source_at
    assert marker is not None

    def fenced(epoch: int) -> Sequence[Op]:
        said = attrs.evolve(marker, phase=FENCED, controller_epoch=epoch, brokers=brokers)
        return [Put(keys.MIGRATION, encode_marker(said), at)]

    holder, guard = encode_holder(marker.migration, now_ms), Check(keys.MIGRATION, at)
    try:
        return hold(source, holder, guard, fenced, CALL_TIMEOUT_S)
    except Contested as error:
        raise MigrationRefused(
            f"{error}; nothing is fenced, and the last elected controller leads in FROM: run it again with fewer "
            "controllers on stand-by there"
        ) from None


def unfence(source: MetadataStore, sides: Sides) -> None:
    """Allow leadership in the old store again and record that in its marker, in one commit. No controller has led over
    the new store, whose `/controller` is held, so this equals a failover."""
    marker, leader = sides.source, read(source, LEADER_KEY)
    assert marker is not None
    said = attrs.evolve(marker, phase=COPYING, controller_epoch=None, brokers={})
    held = leader is not None and decode_holder(leader.value) == marker.migration
    write(
        source,
        Put(keys.MIGRATION, encode_marker(said), sides.source_at),
        *([Delete(LEADER_KEY, leader.version)] if leader is not None and held else []),
    )


def clear(store: MetadataStore, parent: str) -> None:
    """Delete the keys directly below `parent` that a migration puts there."""
    for _, entry in read_children(store, parent, CALL_TIMEOUT_S):
        write(store, Delete(entry.key, entry.version))


def claim(source: MetadataStore, marker: Marker, nonce: str) -> None:
    """The commit token is of the fence's epoch: no commit of an older term is applied after it."""
    entry, epoch = read(source, TOKEN_KEY), read(source, EPOCH_KEY)
    if epoch is None or marker.controller_epoch is None or decode_epoch(epoch.value) != marker.controller_epoch:
        raise MigrationRefused(f"{EPOCH_KEY} of FROM is not {marker.controller_epoch}, under which it was fenced")
    token = None if entry is None else Token.decode(entry.value)
    if token is None or token.controller_epoch != marker.controller_epoch:
        at: Expect = as_read(entry)
        term = ElectedTerm(marker.controller_epoch, epoch.version, token, at)
        write(source, *Fence(term).attempt((), nonce).ops)


def admitted_changes(source: MetadataStore, target: MetadataStore, marker: Marker) -> list[Change]:
    """Make the new store know all brokers of the old one: a live broker by its registration there, any other as
    dead."""
    catch_up(source, target)
    wanted = {**dict.fromkeys(admitted_epochs(source), 0), **marker.brokers}
    there = dict(read_children(target, keys.ADMITTED, CALL_TIMEOUT_S))
    changes = []
    for broker, epoch in sorted(wanted.items()):
        known, value = there.get(str(broker)), small.encode_admitted(epoch)
        if known is None or known.value != value:
            changes.append(Change(keys.admitted(broker), value, None if known is None else known.version))
    return changes


def put_seal(source: MetadataStore, stamps: Mapping[str, Stamp]) -> int:
    """Write the version of every key of the old store into it; return in how many keys."""
    values = tuple(encode_seals(stamps))
    for number, value in enumerate(values, 1):
        entry = read(source, keys.migration_seal(number))
        if entry is None or entry.value != value:
            write(source, Put(keys.migration_seal(number), value, as_read(entry)))
    return len(values)


def read_seal(source: MetadataStore, marker: Marker) -> dict[str, Stamp]:
    """The content that `put_seal` wrote. Raises MigrationRefused if it is missing or broken."""
    paths = [keys.migration_seal(number) for number in range(1, marker.seals + 1)]
    entries = source.get_many(paths, timeout_s=CALL_TIMEOUT_S)
    gone = [path for path, entry in zip(paths, entries, strict=True) if entry is None]
    if gone:
        raise MigrationRefused(f"{gone[0]} of FROM is missing: later writes there cannot be found")
    try:
        return decode_seals(entry.value for entry in entries if entry is not None)
    except BadValue as error:
        raise MigrationRefused(f"{keys.MIGRATION} of FROM: {error}") from None


def give(source: MetadataStore, target: MetadataStore, sides: Sides) -> None:
    """Release the complete new store: from now on, a controller can win the election there."""
    before, marker = sides.source, sides.target
    assert before is not None and marker is not None and before.controller_epoch is not None
    token, tree_format, leader = read(source, TOKEN_KEY), read(source, FORMAT_KEY), read(target, LEADER_KEY)
    if token is None:
        raise MigrationRefused(f"{TOKEN_KEY} of FROM is missing")
    complete = attrs.evolve(marker, phase=COMPLETE, controller_epoch=before.controller_epoch)
    write(
        target,
        Put(keys.MIGRATION, encode_marker(complete), sides.target_at),
        Put(EPOCH_KEY, b"%d" % before.controller_epoch, ABSENT),
        Put(TOKEN_KEY, token.value, ABSENT),
        Put(FORMAT_KEY, _format(tree_format), ABSENT),
        Put(keys.ORIGIN, encode_origin(marker), ABSENT),
        *([] if leader is None else [Delete(LEADER_KEY, leader.version)]),
    )


def _format(entry: Entry | None) -> bytes:
    """The format of the new store. With it, controllers that do not know the marker, and would lead without raising any
    epoch, stand by. An unreadable format keeps all controllers off; it was refused before the fence."""
    try:
        least = 0 if entry is None else decode_format(entry.value)
    except BadValue:
        assert entry is not None, "it was read"
        return entry.value
    return encode_format(max(least, MARKER_KNOWN))
