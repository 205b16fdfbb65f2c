"""The keys that request the deletion of a topic."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ...stores.base import Depth
from ..codec import keys
from ..model.events import DeletionKeyRead, Event, TopicDeletionDue
from ..rules.takeover import deletion_goes_on
from .base import GONE, Content, KeyKind, at_of
from .unreadable import Unreadable


class DeletionKeys(KeyKind):
    """`key_id`: the name of the topic."""

    unreadable = (Unreadable("request to delete a topic", "its value does not matter: its name is the request"),)
    name, path, read_event = "deletion", staticmethod(keys.delete_topic), (DeletionKeyRead, "topic")
    roots = ((keys.DELETE_TOPICS, Depth.VALUES),)

    def load(self, now_ms: int) -> list[Event]:
        """Those of known topics go on before anything else is decided; of the others the rules decide."""
        state, events = self.state, list[Event]()
        for name, entry in self.context.below(keys.DELETE_TOPICS):
            if name in state.topics and deletion_goes_on(state, name):
                state.versions.put(entry.key, entry.version)
                state.start_deletion(name)
                events.append(TopicDeletionDue(now_ms, name))
            else:
                events.append(DeletionKeyRead(now_ms, name, at_of(entry.key, entry)))
        return events

    def look(self, paths: Collection[str], now_ms: int) -> list[Event]:  # noqa: ARG002
        """All keys that are not as we know them."""
        found = {name: at_of(entry.key, entry) for name, entry in self.context.below(keys.DELETE_TOPICS)}
        lost = [name for name in self.state.versions.below(keys.DELETE_TOPICS) if name not in found]
        found |= {name: at_of(keys.delete_topic(name), None) for name in lost}
        return [DeletionKeyRead(now_ms, name, at) for name, at in found.items() if not self.state.is_known(at)]

    def reread(self, key_ids: Sequence[str], now_ms: int) -> list[Event]:
        paths = list(map(keys.delete_topic, key_ids))
        found = map(at_of, paths, self.context.current(paths))
        return [DeletionKeyRead(now_ms, key_id, at) for key_id, at in zip(key_ids, found, strict=True)]

    def content(self, key_id: str) -> Content:
        state = self.state
        if key_id not in state.deletions or key_id not in state.topics:
            return GONE
        return None if state.versions.of(keys.delete_topic(key_id)) else b""  # one that is there need not be written

    def committed(self, key_id: str, key: str, version: int) -> None:
        super().committed(key_id, key, version)
        self.state.deletion_written(key_id)
