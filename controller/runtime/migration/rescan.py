"""Reading a store again under the fence, while nobody leads: by the keys that are known, where that is the faster way.

Rules
* A store whose snapshot is one instant reads it in one go. One that walks its tree level by level (ZooKeeper) asks for
  the children of each of 200,000 partitions: there, topics and their configs are read by their paths, and only what
  may have come since is walked.
* What is known: every key of the last scan, and the state keys that its topic keys name, also those that were not there
  yet. What may have come: topics, configs, keys below a topic whose own key changed, and everything elsewhere.
* What comes to be below a topic that is known, and is none of its states, is written by somebody else at all events. It
  is not seen here; it is no part of the seal, so that it is told as a foreign write.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from controller.codec import BadValue, keys
from controller.codec.bulk import Bulk
from controller.migration import Item, scan
from controller.runtime.migration.reading import CALL_TIMEOUT_S, entries_of
from stores.base import Entry, MetadataStore
from stores.checks import below

_BY_PATH: Final = (keys.TOPICS, keys.CONFIG_TOPICS)
_BELOW: Final = tuple(parent + "/" for parent in _BY_PATH)


class Rescan:
    """Of one store."""

    def __init__(self, store: MetadataStore) -> None:
        self._store = store
        self._known: dict[str, Item] = {}
        self._paths: tuple[str, ...] = ()

    def forget(self) -> None:
        """The next reading begins anew."""
        self._known, self._paths = {}, ()

    def taken(self, entries: Sequence[Entry]) -> dict[str, Item]:
        """What of `entries`, which are all, is copied; remembered for `entries`."""
        known = scan(entries)
        self.remember(known)
        return known

    def remember(self, known: dict[str, Item]) -> None:
        """Take this for what is known, in `entries`."""
        if not self._store.capabilities.atomic_snapshot:
            self._known = known
            self._paths = tuple({**{key: None for key in known if key.startswith(_BELOW)}, **dict(_states(known))})

    def entries(self) -> Sequence[Entry]:
        """All that stands, but for what the head of this module names."""
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
        """The keys next to those that are read by their paths, and next to what leads there."""
        for name in self._store.children(parent, timeout_s=CALL_TIMEOUT_S):
            key = below(parent) + name
            if any(path.startswith(key + "/") for path in _BY_PATH):
                yield from self._elsewhere(key)
            elif key not in _BY_PATH:
                yield key

    def _below(self, key: str) -> dict[str, Entry]:
        """The key itself, and all below it."""
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
