"""The keys that request the deletion of partitions of a topic (KIP-694)."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ...stores.base import ABSENT, Check, Delete, Depth, Entry, Op, Put, Version
from ..codec import BadValue, keys, orders
from ..model.events import Event, ReductionKeyRead
from ..rules.takeover import reduction_found
from .base import PATH_BYTES, KeyKind, expect
from .unreadable import Unreadable


class ReductionKeys(KeyKind):
    """Without any partition left the key is deleted, or of a new topic is held to be absent. `of`: the topic, which may
    have been deleted."""

    unreadable = (
        Unreadable(
            "request to delete partitions",
            "it is removed, or, if partitions of its topic are not online, written again: their retention starts again",
        ),
    )
    dirty, path, told = "reduction", staticmethod(keys.delete_partitions), (ReductionKeyRead, "topic")
    roots = ((keys.DELETE_PARTITIONS, Depth.VALUES),)

    def load(self, now_ms: int) -> list[Event]:
        events: list[Event] = []
        for name, entry in self.ground.below(keys.DELETE_PARTITIONS):
            taken, due = reduction_found(self.state, _read(name, entry, now_ms))
            if taken is not None:
                self.state.load_reduction(name, taken.version, taken.entries, taken.extra)
            events += due
        return events

    def look(self, paths: Collection[str], now_ms: int) -> list[Event]:  # noqa: ARG002
        """All keys that are not as we know them."""
        known = {name: one.version for name, one in self.state.reducing.of.items()}
        found = dict(self.ground.below(keys.DELETE_PARTITIONS))
        events: list[Event] = [_read(n, entry, now_ms) for n, entry in found.items() if known.get(n) != entry.version]
        lost = [name for name, version in known.items() if version and name not in found]
        return [*events, *(_read(name, None, now_ms) for name in lost)]

    def reread(self, ofs: Sequence[str], now_ms: int) -> list[Event]:
        found = self.ground.current(list(map(keys.delete_partitions, ofs)))
        return [_read(of, entry, now_ms) for of, entry in zip(ofs, found, strict=True)]

    def cost_max(self, of: str) -> int:
        found = self.state.reducing.of.get(of)
        return PATH_BYTES + len(of) + (0 if found is None else orders.reduction_bytes_max(found.entries, found.extra))

    def op(self, of: str, key: str) -> Op | None:
        found = self.state.reducing.of.get(of)
        if found is None:
            return Check(key, ABSENT)  # of a new topic
        if found.entries and of in self.state.topics:
            return Put(key, orders.encode_reduction(found.entries, found.extra), expect(found.version))
        return Delete(key, Version(found.version)) if found.version else None

    def stands(self, of: str, version: int) -> None:
        self.state.reducing.stands(of, version)


def _read(topic: str, entry: Entry | None, now_ms: int) -> ReductionKeyRead:
    if entry is None:
        return ReductionKeyRead(now_ms, topic, 0, {})
    try:
        entries, extra = orders.decode_reduction(entry.value)
    except BadValue as error:
        return ReductionKeyRead(now_ms, topic, entry.version, {}, problem=str(error))
    return ReductionKeyRead(now_ms, topic, entry.version, entries, extra)
