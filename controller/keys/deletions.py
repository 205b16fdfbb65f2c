"""The keys that request the deletion of a topic."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ...stores.base import Delete, Depth, Op, Put, Version
from ..codec import keys
from ..model.events import DeletionKeyRead, Event, TopicDeletionDue
from ..rules.takeover import deletion_goes_on
from .base import KeyKind, expect, gone
from .unreadable import Unreadable


class DeletionKeys(KeyKind):
    """`of`: the name of the topic."""

    unreadable = (Unreadable("request to delete a topic", "its value does not matter: its name is the request"),)
    dirty, path, told = "deletion", staticmethod(keys.delete_topic), (DeletionKeyRead, "topic")
    roots = ((keys.DELETE_TOPICS, Depth.VALUES),)

    def load(self, now_ms: int) -> list[Event]:
        """Those of known topics go on before anything else is decided; of the others the rules decide."""
        state, events = self.state, list[Event]()
        for name, entry in self.ground.below(keys.DELETE_TOPICS):
            if name in state.topics and deletion_goes_on(state, name):
                state.start_deletion(name, entry.version)
                events.append(TopicDeletionDue(now_ms, name))
            else:
                events.append(DeletionKeyRead(now_ms, name, entry.version))
        return events

    def look(self, paths: Collection[str], now_ms: int) -> list[Event]:  # noqa: ARG002
        """All keys that are not as we know them."""
        found = {name: entry.version for name, entry in self.ground.below(keys.DELETE_TOPICS)}
        known = {name: deletion.version for name, deletion in self.state.deletions.items()}
        names = [name for name, version in found.items() if known.get(name) != version]
        names += [name for name, version in known.items() if version and name not in found]
        return [DeletionKeyRead(now_ms, name, found.get(name, 0)) for name in names]

    def reread(self, ofs: Sequence[str], now_ms: int) -> list[Event]:
        found = self.ground.current(list(map(keys.delete_topic, ofs)))
        return [DeletionKeyRead(now_ms, of, e.version if e else 0) for of, e in zip(ofs, found, strict=True)]

    def op(self, of: str, key: str) -> Op | None:
        state = self.state
        deletion = state.deletions.get(of)
        if deletion is None:
            return gone(key, expect(state.refused.get(of, 0)))
        if of not in state.topics:
            return Delete(key, Version(deletion.version)) if deletion.version else None
        return None if deletion.version else Put(key, b"", expect(state.refused.get(of, 0)))

    def stands(self, of: str, version: int) -> None:
        self.state.deletion_stands(of, version)
