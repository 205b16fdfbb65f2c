"""The legacy key: reassignments that a tool of Kafka's asks for.

The entries that a takeover found are gone on with when every registered broker is live: one written without a leader
is no dead one. A key that names entries which are not in force any more is written again after
`topic_rewrite_interval_ms`, once for all that ended meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from ...stores.base import Depth
from ..codec import BadValue, keys
from ..codec import legacy as codec
from ..model.events import Event, LegacyKeyDue, LegacyKeyRead, LegacyPlanDue
from ..model.legacy import NO_KEY, LegacyKey
from ..model.records import KeyAt
from ..state import LEGACY
from .base import GONE, PATH_BYTES, Content, KeyContext, KeyKind, at_of
from .unreadable import Unreadable


class LegacyKeys(KeyKind):
    """The entries in force; without any the key is deleted. Times are `elapsed_ms`."""

    unreadable = (
        Unreadable("legacy plan", "nothing of it is begun; it is removed, or overwritten, once nothing moves"),
    )
    name, path, read_event = LEGACY[0], staticmethod(lambda _: keys.REASSIGN_PARTITIONS), (LegacyKeyRead, "")
    roots = ((keys.REASSIGN_PARTITIONS, Depth.SELF),)

    def __init__(self, context: KeyContext) -> None:
        super().__init__(context)
        self._waits_for_brokers = False
        self._behind_since_ms: int | None = None

    def key_id_of(self, event: object) -> object:  # noqa: ARG002
        return LEGACY[1]

    def load(self, now_ms: int) -> list[Event]:  # noqa: ARG002
        """All that it names is in force; `due` says when it is gone on with."""
        at, found = self._read()
        self.state.versions.put(at.path, at.version)
        self.state.legacy.load(found)
        self._waits_for_brokers = self.state.legacy.is_there and self.state.legacy.key.problem is None
        return []

    def look(self, paths: Collection[str], now_ms: int) -> list[Event]:  # noqa: ARG002
        return [LegacyKeyRead(now_ms, *self._read())]

    def reread(self, key_ids: Sequence[object], now_ms: int) -> list[Event]:  # noqa: ARG002
        return [LegacyKeyRead(now_ms, *self._read())]

    def _read(self) -> tuple[KeyAt, LegacyKey]:
        """The key and its content, with the reason if that cannot be read."""
        entry = self.context.get(keys.REASSIGN_PARTITIONS)
        self.context.findings.good(keys.REASSIGN_PARTITIONS)
        at = at_of(keys.REASSIGN_PARTITIONS, entry)
        if entry is None:
            return at, NO_KEY
        try:
            return at, codec.decode(entry.value)
        except BadValue as error:
            problem = f"{keys.REASSIGN_PARTITIONS}: {error}"
            self.context.findings.bad(keys.REASSIGN_PARTITIONS, problem)
            return at, LegacyKey(problem=problem)

    def due(self, now_ms: int, elapsed_ms: int, *, are_all_admitted: Callable[[], bool]) -> list[Event]:
        """What there is to do without a hint."""
        events: list[Event] = []
        if self._waits_for_brokers and are_all_admitted():
            self._waits_for_brokers = False
            events.append(LegacyPlanDue(now_ms))
        if not self._is_late():
            self._behind_since_ms = None
        elif self._behind_since_ms is None:
            self._behind_since_ms = elapsed_ms
        elif elapsed_ms >= self._behind_since_ms + self.state.settings.topic_rewrite_interval_ms:
            self._behind_since_ms = None
            events.append(LegacyKeyDue(now_ms))
        return events

    def _is_late(self) -> bool:
        legacy = self.state.legacy
        return legacy.is_behind or (legacy.is_there and legacy.key.problem is not None and not self.state.moves)

    def next_due_ms(self, elapsed_ms: int) -> int | None:
        """When `due` has something to say; None if not by time."""
        if not self._is_late():
            return None
        if self._behind_since_ms is None:
            return elapsed_ms
        return self._behind_since_ms + self.state.settings.topic_rewrite_interval_ms

    def cost_max(self, key_id: object) -> int:  # noqa: ARG002
        held = self.state.legacy
        return PATH_BYTES + codec.bytes_max(held.entries.values(), held.key.extra)

    def content(self, key_id: object) -> Content:  # noqa: ARG002
        held = self.state.legacy
        return codec.encode(held.ordered(), held.key.extra, held.key.format) if held.entries else GONE

    def committed(self, key_id: object, key: str, version: int) -> None:
        super().committed(key_id, key, version)
        self.state.legacy.committed(is_there=bool(version))
