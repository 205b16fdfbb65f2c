"""Which keys of a store are copied, and how two scans differ.

* Not copied: ephemeral keys (their sessions belong to the old store); the keys of leadership, of the format and of the
  move itself (each side has its own); the last admissions (the new store begins at 1); notifications
  of config changes (brokers read the configs when they come to the new store, which numbers changes itself); and empty
  parents, which only a store that needs parents has.
* `/brokers/seqid` counts by its generation, which starts again in the new store: the number is copied as text.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Collection, Iterator, Mapping
from typing import Final, NamedTuple

from ...stores.base import ABSENT, Delete, Entry, Op, Put, Version
from ...stores.recipes import EPOCH_KEY, LEADER_KEY, TOKEN_KEY
from ..codec import keys
from ..codec.migration import Stamp
from ..codec.orders import FORMAT_KEY

GIVEN_WITH: Final = (EPOCH_KEY, TOKEN_KEY, FORMAT_KEY, keys.ORIGIN)  # written to TO in the commit that releases it
_OWN: Final = frozenset({LEADER_KEY, keys.MIGRATION, *GIVEN_WITH})
_BELOW: Final = (keys.MIGRATION + "/", keys.ADMITTED + "/", keys.CONFIG_CHANGES + "/")
_PERHAPS_OWN: Final = ("/controller", "/kedge/", keys.CONFIG_CHANGES)  # a cheap first test: most keys are neither
_DECIMAL: Final = re.compile(rb"[0-9]{1,19}")


class Item(NamedTuple):
    """A key that is copied: its value in the new store, its version and creation in the old one."""

    value: bytes
    version: int
    created: int


class Change(NamedTuple):
    """One difference between the new store and the old one. `value` None: the key is deleted. `at`: the version of the
    key in the new store, None where it does not exist."""

    key: str
    value: bytes | None
    at: Version | None

    def op(self) -> Op:
        """The op for it, which requires the key to be unchanged since the scan."""
        if self.value is not None:
            return Put(self.key, self.value, ABSENT if self.at is None else self.at)
        assert self.at is not None, "a key to delete was read before"
        return Delete(self.key, self.at)


def scan(entries: Collection[Entry]) -> dict[str, Item]:
    """The keys of a store that are copied, with their items."""
    found: dict[str, Item] = {}
    paths: list[str] = []
    for entry in entries:  # 0.6 us each: it runs under the fence, too
        key, value = entry.key, entry.value
        if entry.owner is not None or (key.startswith(_PERHAPS_OWN) and _is_own(key)):
            continue
        if not value:
            paths = paths or sorted(one.key for one in entries)
            if _has_children(key, paths):
                continue
        found[key] = Item(value, entry.version, entry.created)
        if key == keys.BROKER_SEQUENCE:
            found[key] = Item(_counted(entry), entry.version, entry.created)
    return found


def _is_own(key: str) -> bool:
    return key in _OWN or key.startswith(_BELOW)


def _has_children(key: str, paths: list[str]) -> bool:
    at = bisect_left(paths, key + "/")
    return at < len(paths) and paths[at].startswith(key + "/")


def _counted(entry: Entry) -> bytes:
    known = int(entry.value) if _DECIMAL.fullmatch(entry.value) else 0
    return b"%d" % max(entry.generation, known)


def differences(source: Mapping[str, Item], target: Mapping[str, Item]) -> Iterator[Change]:
    """The changes that make `target` equal to `source`; deletions come last, deepest key first."""
    for key, item in source.items():
        known = target.get(key)
        if known is None or known.value != item.value:
            yield Change(key, item.value, None if known is None else Version(known.version))
    for key in sorted(target.keys() - source.keys(), reverse=True):
        yield Change(key, None, Version(target[key].version))


# --- writes of other programs after the fence


def seal_of(source: Mapping[str, Item]) -> dict[str, Stamp]:
    """The stamp of every key in the last scan."""
    return {key: Stamp(version, created) for key, (_, version, created) in source.items()}


def foreign(source: Mapping[str, Item], seal: Mapping[str, Stamp]) -> Iterator[tuple[str, str]]:
    """Keys of the old store that differ from the seal, each with what happened to it."""
    for key in sorted({*source, *seal}):
        item = source.get(key)
        if item is None:
            yield key, "deleted"
        elif key not in seal:
            yield key, "created"
        elif seal[key] != (item.version, item.created):
            yield key, "written"
