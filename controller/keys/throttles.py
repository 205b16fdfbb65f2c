"""The keys that name throttles to be removed (KIP-179), under two names each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ...stores.base import Entry
from ...stores.checks import OP_BYTES_FIXED
from ..codec import BadValue, keys, throttles
from ..model.events import Event, ThrottleRemovalDue
from ..model.throttles import KINDS, OLD, MarkKey, MarkKind, MarkSlot, OwnerMark, bytes_max
from .base import GONE, Content, KeyKind
from .unreadable import Unreadable

_PATHS: Final[Mapping[MarkSlot, str]] = {
    "topics": keys.REPLICAS_REMOVAL,
    "brokers": keys.RATES_REMOVAL,
    "old topics": keys.OLD_REPLICAS_REMOVAL,
    "old brokers": keys.OLD_RATES_REMOVAL,
}


class ThrottleKeys(KeyKind):
    """`key_id`: the slot. A mark without names is deleted; those under the other names are never written."""

    unreadable = (
        Unreadable(
            "throttles to be removed",
            "no throttle that it names is removed; the next mark overwrites it, and it is removed once nothing moves",
        ),
    )
    name, path = "throttles", _PATHS.__getitem__

    def load(self, now_ms: int) -> list[Event]:
        """What is marked is taken back, unless something is being reassigned; decided after all that was found."""
        slots: list[tuple[MarkSlot, MarkKind]] = [*((kind, kind) for kind in KINDS), *((OLD[k], k) for k in KINDS)]
        for (slot, kind), entry in zip(slots, self.context.many([_PATHS[slot] for slot, _ in slots]), strict=True):
            if entry is not None:
                self.state.versions.put(entry.key, entry.version)
                self.state.throttles.load(kind, slot, *self._read(kind, entry))
        return [ThrottleRemovalDue(now_ms)] if self.state.throttles.is_marked else []

    def _read(self, kind: MarkKind, entry: Entry) -> tuple[dict[str, OwnerMark], MarkKey]:
        """The marks in a key; one that cannot be read is reported and has none."""
        try:
            return throttles.decode(kind, entry.value)
        except BadValue as error:
            self.context.findings.bad(entry.key, self.unreadable[0].said(error))
            return {}, MarkKey()

    def cost_max(self, key_id: MarkSlot) -> int:
        marks = self.state.throttles.marks[key_id] if key_id in KINDS else {}
        return OP_BYTES_FIXED + len(_PATHS[key_id]) + bytes_max(marks)

    def content(self, key_id: MarkSlot) -> Content:
        known = self.state.throttles
        if key_id not in KINDS or not known.listed(key_id):
            return GONE
        return throttles.encode(key_id, known.marks[key_id], known.keys.get(key_id, MarkKey()))

    def committed(self, key_id: MarkSlot, key: str, version: int) -> None:
        super().committed(key_id, key, version)
        self.state.throttles.written(key_id, is_there=bool(version))
