"""The keys that request the deletion of partitions of a topic (KIP-694)."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ...stores.base import Depth, Entry
from ..codec import BadValue, keys, orders
from ..model.events import Event, ReductionKeyRead
from ..rules.takeover import reduction_found
from .base import GONE, PATH_BYTES, Content, KeyKind, at_of
from .unreadable import Unreadable


class ReductionKeys(KeyKind):
    """Without any partition left the key is deleted, or of a new topic is held to be absent. The key id is the topic,
    which may have been deleted."""

    unreadable = (
        Unreadable(
            "request to delete partitions",
            "it is removed, or, if partitions of its topic are not online, written again: their retention starts again",
        ),
    )
    name, path, read_event = "reduction", staticmethod(keys.delete_partitions), (ReductionKeyRead, "topic")
    roots = ((keys.DELETE_PARTITIONS, Depth.VALUES),)

    def load(self, now_ms: int) -> list[Event]:
        events: list[Event] = []
        for name, entry in self.context.below(keys.DELETE_PARTITIONS):
            taken, due = reduction_found(self.state, _read(name, entry, now_ms))
            if taken is not None:
                self.state.versions.put(taken.at.path, taken.at.version)
                self.state.load_reduction(name, taken.entries, taken.extra)
            events += due
        return events

    def look(self, paths: Collection[str], now_ms: int) -> list[Event]:  # noqa: ARG002
        """All keys that are not as we know them."""
        found: dict[str, Entry | None] = dict(self.context.below(keys.DELETE_PARTITIONS))
        lost = [name for name in self.state.versions.below(keys.DELETE_PARTITIONS) if name not in found]
        events = [_read(name, entry, now_ms) for name, entry in (found | dict.fromkeys(lost)).items()]
        return [event for event in events if not self.state.is_known(event.at)]

    def reread(self, key_ids: Sequence[str], now_ms: int) -> list[Event]:
        found = self.context.current(list(map(keys.delete_partitions, key_ids)))
        return [_read(key_id, entry, now_ms) for key_id, entry in zip(key_ids, found, strict=True)]

    def cost_max(self, key_id: str) -> int:
        known = self.state.reducing.of.get(key_id)
        content = 0 if known is None else orders.reduction_bytes_max(known.entries, known.extra)
        return PATH_BYTES + len(key_id) + content

    def content(self, key_id: str) -> Content:
        found = self.state.reducing.of.get(key_id)
        return orders.encode_reduction(found.entries, found.extra) if found is not None and found.entries else GONE


def _read(topic: str, entry: Entry | None, now_ms: int) -> ReductionKeyRead:
    at = at_of(keys.delete_partitions(topic), entry)
    if entry is None:
        return ReductionKeyRead(now_ms, topic, at, {})
    try:
        entries, extra = orders.decode_reduction(entry.value)
    except BadValue as error:
        return ReductionKeyRead(now_ms, topic, at, {}, problem=str(error))
    return ReductionKeyRead(now_ms, topic, at, entries, extra)
