"""The keys that name throttles to be removed (KIP-179), under two names each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ...stores.base import Entry
from ...stores.checks import OP_BYTES_FIXED
from ..codec import BadValue, keys, throttles
from ..model.events import Event, ThrottleRemovalDue
from ..model.throttles import KINDS, OLD, MarkKind, MarkSlot, ThrottleMark
from .base import GONE, Content, KeyKind
from .unreadable import Unreadable

_PATHS: Final[Mapping[MarkSlot, str]] = {
    "topics": keys.REPLICAS_REMOVAL,
    "brokers": keys.RATES_REMOVAL,
    "old topics": keys.OLD_REPLICAS_REMOVAL,
    "old brokers": keys.OLD_RATES_REMOVAL,
}


class ThrottleKeys(KeyKind):
    """`of`: the slot. A mark without names is deleted; those under the other names are never written."""

    unreadable = (
        Unreadable(
            "throttles to be removed",
            "no throttle that it names is removed; the next mark overwrites it, and it is removed once nothing moves",
        ),
    )
    dirty, path = "throttles", _PATHS.__getitem__

    def load(self, now_ms: int) -> list[Event]:
        """What is marked is taken back, unless something is being reassigned; decided after all that was found."""
        slots: list[tuple[MarkSlot, MarkKind]] = [*((kind, kind) for kind in KINDS), *((OLD[k], k) for k in KINDS)]
        for (slot, kind), entry in zip(slots, self.ground.many([_PATHS[slot] for slot, _ in slots]), strict=True):
            if entry is not None:
                self.state.versions.put(entry.key, entry.version)
                self.state.load_throttle_mark(slot, self._read(kind, entry))
        return [ThrottleRemovalDue(now_ms)] if self.state.throttles.is_marked else []

    def _read(self, kind: MarkKind, entry: Entry) -> ThrottleMark:
        """What a key says; one that cannot be read says why."""
        try:
            return throttles.decode(kind, entry.value, entry.version)
        except BadValue as error:
            problem = self.unreadable[0].said(error)
            self.ground.findings.bad(entry.key, problem)
            return ThrottleMark(entry.version, problem=problem)

    def cost_max(self, of: MarkSlot) -> int:
        content = self.content(of)
        return OP_BYTES_FIXED + len(_PATHS[of]) + (len(content) if isinstance(content, bytes) else 0)

    def content(self, of: MarkSlot) -> Content:
        mark = self.state.throttles.marks[of]
        return throttles.encode(of, mark) if mark.owners and of in KINDS else GONE

    def committed(self, of: MarkSlot, key: str, version: int) -> None:
        super().committed(of, key, version)
        self.state.throttles.stands(of, version)
