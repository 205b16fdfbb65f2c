"""The marks of throttles as keys (`written` has the table of all kinds)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import attrs

from controller.codec import BadValue, keys, throttles
from controller.model.records import UNREAD
from controller.model.throttles import KINDS, MarkKind, MarkSlot, ThrottleMark
from controller.runtime.readable import FORBIDDEN
from controller.runtime.unreadable import broken, forbidden
from stores.base import Delete, Entry, Op, Put
from stores.checks import OP_BYTES_FIXED

if TYPE_CHECKING:
    from controller.runtime.written import Ground

_PATHS: Final[Mapping[MarkSlot, str]] = {
    "topics": keys.REPLICAS_REMOVAL,
    "brokers": keys.RATES_REMOVAL,
    "old topics": keys.OLD_REPLICAS_REMOVAL,
    "old brokers": keys.OLD_RATES_REMOVAL,
}


def path_of(slot: MarkSlot) -> str:
    """The path of a mark."""
    return _PATHS[slot]


def as_mark(kind: MarkKind, entry: Entry) -> ThrottleMark:
    """What a key says; one that cannot be read says why."""
    if entry.value is FORBIDDEN:
        return ThrottleMark(entry.version, problem=forbidden(entry.key))
    try:
        return throttles.decode(kind, entry.value, entry.version)
    except BadValue as error:
        return ThrottleMark(entry.version, problem=broken(entry.key, error))


@attrs.frozen
class ThrottleMarks:
    """`of`: the slot. A mark that names nobody goes; those under the other names are never written."""

    ground: Ground

    def cost_max(self, of: MarkSlot) -> int:
        value = self._value(of)
        return OP_BYTES_FIXED + len(path_of(of)) + (0 if value is None else len(value))

    def key(self, of: MarkSlot, seq: int) -> str:  # noqa: ARG002
        return path_of(of)

    def _value(self, of: MarkSlot) -> bytes | None:
        mark = self.ground.state.throttles.marks[of]
        return throttles.encode(of, mark) if mark.owners and of in KINDS else None

    def op(self, of: MarkSlot, key: str) -> Op | None:
        version, value = self.ground.state.throttles.marks[of].version, self._value(of)
        if version == UNREAD:
            return None
        if value is not None:
            return Put(key, value, self.ground.at(key, version))
        if not version or self.ground.is_gone(key, version):
            return None  # somebody else removed it
        return Delete(key, self.ground.at(key, version))

    def stands(self, of: MarkSlot, version: int, seq: int) -> None:  # noqa: ARG002
        self.ground.state.throttles.stands(of, version)
