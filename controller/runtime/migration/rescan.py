"""Reads a store again under the fence, without a leader: by known keys, where that is faster.

Rules
* A store with atomic snapshots is read by one. A store that walks its tree level by level (ZooKeeper) would read the
  children of each of 200,000 partitions: there, topics and their configs are read by their paths, and only places where
  keys may have been created are walked.
* Known keys: all keys of the last scan, and the state keys that its topic keys name, including missing ones. Possible
  new keys: topics, configs, keys below a topic whose own key changed, and everything elsewhere.
* A new key below a known topic that is not one of its states was written by another program. It is not seen here, and
  so not part of the seal; it is later reported as a foreign write.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from ....stores.base import Entry, MetadataStore
from ....stores.checks import below
from ...codec import BadValue, keys
from ...codec.bulk import Bulk
from ...migration import Item, scan
from .reading import CALL_TIMEOUT_S, entries_of

_BY_PATH: Final = (keys.TOPICS, keys.CONFIG_TOPICS)
_BELOW: Final = tuple(parent + "/" for parent in _BY_PATH)


class Rescan:
    """Reads one store again."""

    def __init__(self, store: MetadataStore) -> None:
        self._store = store
        self._known: dict[str, Item] = {}
        self._paths: tuple[str, ...] = ()

    def forget(self) -> None:
        """Make the next read a full one."""
        self._known, self._paths = {}, ()

    def taken(self, entries: Sequence[Entry]) -> dict[str, Item]:
        """The content to copy from `entries`, which are all; remembered for `entries`."""
        known = scan(entries)
        self.remember(known)
        return known

    def remember(self, known: dict[str, Item]) -> None:
        """Use `known` as the known keys in `entries`."""
        if not self._store.capabilities.atomic_snapshot:
            self._known = known
            self._paths = tuple({**{key: None for key in known if key.startswith(_BELOW)}, **dict(_states(known))})

    def entries(self) -> Sequence[Entry]:
        """The content of the store, except for what the module describes."""
        if not self._paths:
            return entries_of(self._store)
        found = {key: entry for key, entry in self._many(self._paths) if entry is not None}
        changed = [topic for topic, _ in _topics(self._known) if self._is_changed(topic, found.get(topic))]
        for topic in (*changed, *self._new(keys.TOPICS, found)):
            found |= self._below(topic)
        found |= {key: entry for key, entry in self._many(self._new(keys.CONFIG_TOPICS, found)) if entry is not None}
        for parent in self._elsewhere("/"):
            found |= self._below(parent)
        return list(found.values())

    def _is_changed(self, topic: str, entry: Entry | None) -> bool:
        return entry is None or entry.value != self._known[topic].value

    def _new(self, parent: str, found: dict[str, Entry]) -> list[str]:
        names = self._store.children(parent, timeout_s=CALL_TIMEOUT_S)
        return [key for name in names if (key := f"{parent}/{name}") not in found]

    def _elsewhere(self, parent: str) -> Iterator[str]:
        """The keys beside those that are read by their paths, and beside their parents."""
        for name in self._store.children(parent, timeout_s=CALL_TIMEOUT_S):
            key = below(parent) + name
            if any(path.startswith(key + "/") for path in _BY_PATH):
                yield from self._elsewhere(key)
            elif key not in _BY_PATH:
                yield key

    def _below(self, key: str) -> dict[str, Entry]:
        """The key itself, and all keys below it."""
        (_, itself), *_ = self._many([key])
        found = {entry.key: entry for entry in self._store.snapshot(key, timeout_s=CALL_TIMEOUT_S).entries}
        return found if itself is None else {key: itself, **found}

    def _many(self, paths: Sequence[str]) -> Iterator[tuple[str, Entry | None]]:
        return zip(paths, self._store.get_many(paths, timeout_s=CALL_TIMEOUT_S), strict=True)


def _topics(known: dict[str, Item]) -> list[tuple[str, Item]]:
    return [(key, item) for key, item in known.items() if keys.topic_of(key) is not None]


def _states(known: dict[str, Item]) -> Iterator[tuple[str, None]]:
    """The state keys that topic keys name."""
    topics = _topics(known)
    names = [key.rpartition("/")[2] for key, _ in topics]
    for name, found in zip(names, Bulk().topics(names, [item.value for _, item in topics]), strict=True):
        if not isinstance(found, BadValue):
            for number in range(len(found.assignments)):
                yield keys.state(name, number), None
