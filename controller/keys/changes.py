"""The notifications of changed configs below `/config/changes`.

They are read and kept, since brokers read them too. Like Kafka's brokers, this deletes those that were seen 15 minutes
ago when something is read again: all but the newest, whose number gives the next one.

A change of ours gets a numbered key of its own, put as ABSENT. If another program was first, that is a conflict, and
the number is read again.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from controller.codec import BadValue, keys, notifications
from controller.keys.base import Ground, KeyKind, name_of
from controller.keys.unreadable import Unreadable
from controller.model.events import ChangesDue, Event
from controller.model.values import BROKERS, TOPICS, ConfigEntity
from stores.base import ABSENT, PRESENT, Delete, Depth, Entry, Op, Put, Version
from stores.checks import OP_BYTES_FIXED
from stores.recipes import FENCE_OPS, NUMBER_MAX, next_in_sequence, number_in_sequence, sequence_key

PURGE_AFTER_MS: Final = 15 * 60_000  # as in Kafka
_PURGED_MAX: Final = 100  # in one Decision


class ChangeKeys(KeyKind):
    """`of`: whose config changed. Their versions are not recorded; for their numbers see `state.Changes.committed`."""

    unreadable = (Unreadable("change of configs", "it is skipped, since the key of the configs is watched itself"),)
    dirty = "change"
    roots = ((keys.CONFIG_CHANGES, Depth.CHILDREN),)

    def __init__(self, ground: Ground) -> None:
        super().__init__(ground)
        self._seen: dict[str, int] = {}  # existing notifications: when they were first seen, in `elapsed_ms`

    def load(self, now_ms: int) -> list[Event]:  # noqa: ARG002
        self.state.load_change_number(self._next_number())
        return []

    def reread(self, ofs: Sequence[object], now_ms: int) -> list[Event]:  # noqa: ARG002
        """Another program used this number."""
        self.state.changes.seen(self._next_number() - 1)
        return []

    def _next_number(self) -> int:
        return next_in_sequence(self.ground.store, keys.CONFIG_CHANGES, keys.CONFIG_CHANGE, self.ground.timeout_s)

    def look(self, paths: Collection[str], now_ms: int) -> list[Event]:
        found = self.named(paths)
        entries = self.ground.many(list(found))
        if keys.CONFIG_CHANGES in paths:
            self.ground.findings.below(keys.CONFIG_CHANGES, {})
        for path, entry in zip(found, entries, strict=True):
            self._take(path, entry)
        return self._old(now_ms)

    def _take(self, path: str, entry: Entry | None) -> None:
        self.ground.findings.good(path)
        if entry is None:
            self._seen.pop(path, None)
        else:
            self._seen.setdefault(path, self.ground.elapsed_ms())
        number = number_in_sequence(keys.CONFIG_CHANGE, name_of(path))
        if number is not None:
            self.state.changes.seen(number)
        if entry is None:
            return
        try:
            kind, name = notifications.decode_config_change(entry.value)
        except BadValue as error:
            self.ground.findings.bad(path, f"it is passed over: {error}")
            return
        if kind in {TOPICS, BROKERS}:
            self.ground.hint(f"/config/{kind}/{name}")

    def _old(self, now_ms: int) -> list[Event]:
        """The old notifications, at most some at a time; the others follow with later reads."""
        before_ms = self.ground.elapsed_ms() - PURGE_AFTER_MS
        newest = max(self._seen, default="")
        old = [path for path, seen_ms in self._seen.items() if seen_ms <= before_ms and path != newest]
        old = old[: max(1, min(_PURGED_MAX, self.ground.store.capabilities.commit_ops_max - FENCE_OPS))]
        for path in old:
            del self._seen[path]
        return [ChangesDue(now_ms, tuple(old))] if old else []

    def cost_max(self, of: ConfigEntity) -> int:
        return 2 * OP_BYTES_FIXED + len(keys.CONFIG_CHANGES) + len(self._value(of))

    def key(self, of: ConfigEntity) -> str:
        return sequence_key(keys.CONFIG_CHANGES, keys.CONFIG_CHANGE, self.state.changes.number(of))

    def op(self, of: ConfigEntity, key: str) -> Op | None:
        """No op once no number is left, which takes a planted key: the config counts all the same."""
        return Put(key, self._value(of), ABSENT) if self.state.changes.number(of) <= NUMBER_MAX else None

    def _value(self, of: ConfigEntity) -> bytes:
        return notifications.encode_config_change(of.kind, of.name)


class OldChangeKeys(KeyKind):
    """A notification to delete. `of`: its path."""

    dirty = "old change"

    def cost_max(self, of: str) -> int:
        return OP_BYTES_FIXED + len(of)

    def op(self, of: str, key: str) -> Op | None:  # noqa: ARG002
        """No op if another program was faster: brokers delete them too."""
        return None if self.ground.found.pop(key, Version(1)) is None else Delete(key, PRESENT)
