"""Keys that somebody else wrote: what they hold now, as events; and which key an event tells of.

A key of a partition, a topic or an order is read, and what it says is decided as an event of its own. Small keys that
are only written over are asked for their version.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, cast

from controller.model.events import (
    BrokerConfigRead,
    ConfigKeyRead,
    DeletionKeyRead,
    ErrandDone,
    Event,
    KeyRead,
    LegacyKeyRead,
    ReductionKeyRead,
    StateKeyRead,
    TopicKeyRead,
)
from controller.runtime.committer import Committer
from controller.runtime.lookout import Lookout
from controller.runtime.services import Services
from controller.runtime.writer import Writer
from controller.state import LEGACY, ClusterState, Mark

Read = Callable[[Any, int], list[Event]]
"""What the mark says beside its kind, and the time -> what the key holds."""


class Rereading:
    """Of one term. What it reads raises what the store raises."""

    def __init__(
        self, services: Services, state: ClusterState, lookout: Lookout, writer: Writer, committer: Committer
    ) -> None:
        self._services = services
        self._state = state
        self._lookout = lookout
        self._writer = writer
        self._committer = committer
        self._reads: Final[Mapping[str, Read]] = {
            "state": self._partition,
            "topic": lambda of, now_ms: [*lookout.read.topics([of], now_ms)],
            LEGACY[0]: lambda _, now_ms: [lookout.legacy.read(now_ms)],
            "errand": self._errand,
            "deletion": lambda of, now_ms: [lookout.read_deletion(of, now_ms)],
            "reduction": lambda of, now_ms: [lookout.read_reduction(of, now_ms)],
            "unregistered": lambda _, now_ms: lookout.read_brokers(now_ms),
            "change": self._number,
        }

    def superseded(self, event: Event) -> Mark | None:
        """The key that `event` tells of, if it tells of what was read: a later read says all that it said."""
        if (told := _TOLD.get(type(event))) is not None:
            return (told[0], getattr(event, told[1]))
        if isinstance(event, StateKeyRead):
            number = self._state.number(event.topic, event.partition)
            return None if number is None else ("state", number)
        if isinstance(event, LegacyKeyRead):
            return LEGACY
        assert not isinstance(event, KeyRead), f"{type(event).__name__} tells of no key"
        return None

    def read(self, mark: Mark) -> list[Event]:
        """What a key that somebody else wrote holds now: an event for partitions and topics; the small keys are only
        written over, at the version that they have."""
        now_ms = self._services.clock.now_ms()
        kind, of = mark
        if (read := self._reads.get(kind)) is not None:
            return read(of, now_ms)
        key = self._writer.key(mark, self._committer.next_seq)
        if self.is_altered(kind, of):
            self._writer.found.pop(key, None)
            return self._lookout.configs.read(kind, cast(str, of), now_ms)
        entry = self._lookout.read.versions([key])[0]
        self._writer.found[key] = None if entry is None else entry.version
        return []

    def is_altered(self, kind: str, of: object) -> bool:
        """Whether the key holds settings that somebody may have changed, so that what we make of them is decided anew;
        those of a topic that is made or deleted are only written over."""
        if kind == "config":
            return self._state.topic(cast(str, of)) is not None and not self._state.is_deleting(cast(str, of))
        return kind == "broker config"

    def _partition(self, number: int, now_ms: int) -> list[Event]:
        partition = self._state.rows[number] if number < len(self._state.rows) else None
        return [] if partition is None else [*self._lookout.read.states([partition.tp], now_ms)]

    def _errand(self, key: str, now_ms: int) -> list[Event]:  # noqa: ARG002
        """Somebody put it anew, or removed it: what it says now is worked off by itself."""
        self._lookout.errands.again(key)
        return []

    def _number(self, _: object, now_ms: int) -> list[Event]:  # noqa: ARG002
        """Somebody else told of a change of settings under this number."""
        self._lookout.configs.count_changes()
        return []


_TOLD: Final[Mapping[type[Event], tuple[str, str]]] = {
    TopicKeyRead: ("topic", "name"),
    DeletionKeyRead: ("deletion", "topic"),
    ConfigKeyRead: ("config", "topic"),
    BrokerConfigRead: ("broker config", "name"),
    ReductionKeyRead: ("reduction", "topic"),
    ErrandDone: ("errand", "key"),
}
"""What a mark says beside its kind, and where the event has it."""
