"""What a move would do, before anything is written: what must be copied, and the obstacles.

The obstacles are checked again for everything that changes during the copy (`news`), up to the last scan.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final

import attrs

from ...stores.base import Capabilities, Entry, Version
from ...stores.recipes import EPOCH_KEY, LEADER_KEY
from ...stores.transfer.batches import batches
from ..check import Report, inspect
from ..codec import keys
from ..codec.migration import COPYING, TO, decode_marker
from ..codec.orders import CONTROLLER_VERSION, FORMAT_KEY, decode_format
from ..codec.small import decode_controller
from ..codec.text import BadValue
from .scan import Change, Item, differences, scan
from .stages import Stage

_UNREADABLE: Final = frozenset({"unreadable", "empty-list", "duplicate-broker", "partition-hole"})
_NAMED_MAX: Final = 5
_TOPICS: Final = keys.TOPICS + "/"
NO_BROKERS: Final = (
    "no broker is registered in FROM, so the move could wait for none and would fence it at once; if the cluster is "
    "down, say so with --without-brokers"
)
_NO_CLUSTER: Final = "FROM holds no cluster: it has neither a topic nor /controller_epoch"


@attrs.frozen
class Plan:
    """`keys`, `bytes`: everything that is copied; `left_out`: number of keys that are not. `changes`, `commits`: what
    the new store does not have yet, and the number of commits for it. `missing`: live brokers that are not registered
    in the new store. `obstacles`: why the move is not possible, as texts."""

    stage: Stage
    keys: int
    left_out: int
    bytes: int
    changes: int
    commits: int
    topics: int
    partitions: int
    moves: int
    intents: int
    live: tuple[int, ...]
    missing: tuple[int, ...]
    controller_id: int | None
    obstacles: tuple[str, ...]


def registered(entries: Iterable[Entry]) -> tuple[int, ...]:
    """The ids of the registered brokers, from the names of their keys."""
    above = keys.BROKER_IDS + "/"
    names = (e.key.removeprefix(above) for e in entries if e.key.startswith(above))
    return tuple(sorted(int(name) for name in names if name.isascii() and name.isdigit()))


def make_plan(
    stage: Stage, entries: Collection[Entry], target_entries: Collection[Entry], capabilities: Capabilities
) -> Plan:
    """The plan for a move from a store with `entries` to one with `target_entries`."""
    source, found = scan(entries), inspect(entries)
    changes = list(differences(source, scan(target_entries)))
    leader = next((e for e in entries if e.key == LEADER_KEY), None)
    live = registered(entries)
    return Plan(
        stage,
        keys=len(source),
        left_out=len(entries) - len(source),
        bytes=sum(len(key) + len(item.value) for key, item in source.items()),
        changes=len(changes),
        commits=sum(1 for _ in batches((change.op() for change in changes), capabilities)),
        topics=found.counts.topics,
        partitions=found.counts.partitions,
        moves=found.counts.moves,
        intents=found.counts.intents,
        live=live,
        missing=tuple(sorted(set(live) - set(registered(target_entries)))),
        controller_id=None if leader is None else decode_controller(leader.value),
        obstacles=(
            *_too_large(source.items(), capabilities),
            *no_cluster(entries),
            *_unled(entries),
            *_nested(entries),
            *_unreadable(found),
        ),
    )


# --- obstacles


def no_cluster(entries: Iterable[Entry]) -> tuple[str, ...]:
    """The obstacle that there is no cluster to move, if so."""
    there = any(entry.key == EPOCH_KEY or keys.topic_of(entry.key) is not None for entry in entries)
    return () if there else (_NO_CLUSTER,)


def obstacles(entries: Iterable[Entry], capabilities: Capabilities) -> tuple[str, ...]:
    """Why these keys cannot be moved: values over the new store's limit, and unreadable topics and states. For a whole
    store, or for the result of `news`."""
    known = list(entries)
    found = inspect((e for e in known if e.key.startswith(_TOPICS)), rules=())
    return (
        *_too_large(((e.key, e) for e in known), capabilities),
        *_unled(known),
        *_nested(known),
        *_unreadable(found),
    )


def news(source: Mapping[str, Item], changes: Iterable[Change]) -> Iterator[Entry]:
    """The entries of `source` for the changed keys, with all keys of a changed topic: what must be checked in a scan
    that follows one without obstacles."""
    put = [change.key for change in changes if change.value is not None]
    topics = {_topic(key) for key in put if key.startswith(_TOPICS)}
    of_topics = (key for key in source if key.startswith(_TOPICS) and _topic(key) in topics) if topics else ()
    for key in dict.fromkeys((*put, *of_topics)):
        value, version, created = source[key]
        yield Entry(key, value, Version(version), 0, created)


def _topic(key: str) -> str:
    return key.removeprefix(_TOPICS).partition("/")[0]


def _unled(entries: Iterable[Entry]) -> list[str]:
    """The obstacle that the tree requires a newer controller: this version would not know all of the tree."""
    for entry in entries:
        if entry.key == FORMAT_KEY:
            try:
                least = decode_format(entry.value)
            except BadValue as error:
                return [f"{FORMAT_KEY} cannot be read: {error}"]
            if least > CONTROLLER_VERSION:
                return [f"{FORMAT_KEY} asks for controllers of version {least}, this is {CONTROLLER_VERSION}"]
    return []


def _nested(entries: Iterable[Entry]) -> list[str]:
    """The obstacle that a store to which a cluster is being moved lies below FROM; most likely it is TO."""
    inside = (e for e in entries if e.key.endswith(keys.MIGRATION) and e.key != keys.MIGRATION)
    return [f"{e.key}: a cluster is being moved to a store below FROM" for e in inside if _is_moved_to(e.value)][:1]


def _is_moved_to(value: bytes) -> bool:
    try:
        marker = decode_marker(value)
    except BadValue:
        return False
    return (marker.side, marker.phase) == (TO, COPYING)


def _unreadable(found: Report) -> list[str]:
    broken = [f for f in found.findings if f.kind in _UNREADABLE and f.key.startswith(_TOPICS)]
    said = [f"{f.key} cannot be read, so its leader epoch could not be raised: {f.what}: got {f.got}" for f in broken]
    return _first(said, "keys of topics that cannot be read")


def _too_large(items: Iterable[tuple[str, Item | Entry]], capabilities: Capabilities) -> list[str]:
    most = capabilities.value_bytes_max
    return _first(
        [f"{key}: {len(i.value)} bytes, TO takes {most}" for key, i in items if len(i.value) > most], "values"
    )


def _first(said: list[str], what: str) -> list[str]:
    more = len(said) - _NAMED_MAX
    return said[:_NAMED_MAX] + ([f"and {more} more {what}"] if more > 0 else [])
