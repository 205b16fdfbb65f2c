"""Notifications: keys that others put for the controller to work off: to do what they ask for, and to delete them.

* A key is read on a hint and at the beginning of a term; what it asks for is decided in events, and the last of them
  (`NotificationDone` -> `NotificationWorkedOff`) deletes it at the version that was read. A crash in between leaves
  the key: the next term reads it again, so what is asked for must bear to be done twice.
* A key that was put again meanwhile is a Conflict: it is read again, and worked off for what it says then.
* One that cannot be read goes as well: no other program would delete it. It is a finding until the next of its kind is
  worked off.
* To add a kind: its path in `roots`, its event in `_READ`; the rule ends with `NotificationDone`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Final, TypeAlias

from ...stores.base import Depth, Entry
from ...stores.checks import OP_BYTES_FIXED, parent
from ..codec import BadValue, keys, notifications
from ..model.events import Event, LogDirNotified, NotificationDone, PreferredElectionPut
from ..model.values import TopicPartition
from ..rules.foreign_writes import passed_over
from .base import GONE, Content, KeyContext, KeyKind, at_of
from .states import read_states
from .unreadable import Unreadable

Named: TypeAlias = dict[TopicPartition, None]


class NotificationKeys(KeyKind):
    """A dirty key is one that was worked off; `key_id`: its path. One reading of a key at a time: the end of it shows
    whether the key was put again."""

    unreadable = (Unreadable("notification", "it is removed, because no other program would remove it"),)
    name, read_event = "notification", (NotificationDone, "")
    roots = (
        (keys.PREFERRED_ELECTION, Depth.SELF),
        (keys.ISR_CHANGES, Depth.CHILDREN),
        (keys.LOG_DIR_EVENTS, Depth.CHILDREN),
    )

    def __init__(self, context: KeyContext) -> None:
        super().__init__(context)
        self._working: dict[str, None] = {}

    def load(self, now_ms: int) -> list[Event]:  # noqa: ARG002
        self.hinted = dict.fromkeys(root for root, _ in self.roots)
        return []

    def look(self, paths: Collection[str], now_ms: int) -> list[Event]:
        """What the hinted keys ask for."""
        events, fresh, named = list[Event](), dict[str, None](), Named()
        for entry in self.context.many(list(self.named(paths))):
            if entry is not None and entry.key not in self._working:
                fresh[entry.key] = None
                events += self._read(entry, now_ms, named)
        states = read_states(self.context, list(named), now_ms)
        self._working |= fresh
        return [*states, *events]

    def _read(self, entry: Entry, now_ms: int, named: Named) -> list[Event]:
        """`named`: partitions whose state keys are to be read; their events come before the end of the notification."""
        try:
            return _READ[_about(entry.key)](self.context, entry, now_ms, named)
        except BadValue as error:
            return [NotificationDone(now_ms, at_of(entry.key, entry), problem=str(error))]

    def reread(self, key_ids: Sequence[str], now_ms: int) -> list[Event]:  # noqa: ARG002
        """They were put again, or removed: what they say now is worked off by itself."""
        for key_id in key_ids:
            self._working.pop(key_id, None)
            self.context.hint(key_id)
        return []

    def worked_off(self, key: str, notes: Sequence[str], problem: str | None) -> Iterator[str]:
        """The commit that deletes the key was applied. Yields the warnings."""
        self._working.pop(key, None)
        about = _about(key)
        self.context.findings.good(about)
        yield from (f"{key}: passed over: {note}" for note in notes)
        if problem is not None:
            warning = f"{key} was removed, since it cannot be read: {problem}"
            self.context.findings.bad(about, warning)
            yield warning

    def cost_max(self, key_id: str) -> int:
        return OP_BYTES_FIXED + len(key_id)

    def key_id_of(self, event: NotificationDone) -> str:
        return event.at.path

    def content(self, key_id: str) -> Content:  # noqa: ARG002
        return GONE


def _preferred(_: KeyContext, entry: Entry, now_ms: int, __: Named) -> list[Event]:
    partitions = notifications.decode_partitions(entry.value)
    return [PreferredElectionPut(now_ms, at_of(entry.key, entry), partitions)]


def _isr_change(context: KeyContext, entry: Entry, now_ms: int, named: Named) -> list[Event]:
    found = {tp: context.state.partition(tp.topic, tp.partition) for tp in notifications.decode_partitions(entry.value)}
    named |= {tp: None for tp, known in found.items() if known is not None}
    unknown = [tp for tp, known in found.items() if known is None]
    return [NotificationDone(now_ms, at_of(entry.key, entry), passed_over(unknown))]


def _log_dir_event(_: KeyContext, entry: Entry, now_ms: int, __: Named) -> list[Event]:
    broker = notifications.decode_log_dir_event(entry.value)
    return [LogDirNotified(now_ms, at_of(entry.key, entry), broker)]


_READ: Final[Mapping[str, Callable[[KeyContext, Entry, int, Named], list[Event]]]] = {
    keys.PREFERRED_ELECTION: _preferred,
    keys.ISR_CHANGES: _isr_change,
    keys.LOG_DIR_EVENTS: _log_dir_event,
}


def _about(key: str) -> str:
    return key if key in _READ else parent(key)
