"""The notifications that a config was changed, below `/config/changes`.

They are read and left, since brokers read them as well. What was seen 15 minutes ago is deleted when something is
looked at again, as Kafka's brokers do it: all but the newest, by whose number the next one is known. Where no
controller leads for so long, they would pile up, so what is below the newest 500 goes after a minute.

A change of ours is announced by a numbered key of its own, put as ABSENT: where another client was first it is a
conflict, and the number is read again.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from ...stores.base import Depth, Entry
from ...stores.checks import OP_BYTES_FIXED
from ...stores.recipes import FENCE_OPS, NUMBER_MAX, next_in_sequence, number_in_sequence, sequence_key
from ..codec import BadValue, keys, notifications
from ..model.events import ChangesDue, Event
from ..model.values import BROKERS, CLIENTS, TOPICS, USERS, ConfigEntity
from .base import Content, KeyContext, KeyKind, UnversionedKeys, name_of
from .unreadable import Unreadable

PURGE_AFTER_MS: Final = 15 * 60_000  # Kafka's own
PILED_AFTER_MS: Final = 60_000
PILE_MAX: Final = notifications.CHANGES_MAX // 2  # `kedge store audit` allows as many again for that minute
_PURGED_MAX: Final = 100  # in one Decision


class ChangeKeys(KeyKind):
    """The key id is the entity whose config was changed. For the numbers see `state.Changes.committed`."""

    unreadable = (Unreadable("change of configs", "it is skipped: the key of the configs itself is watched"),)
    name = "change"
    roots = ((keys.CONFIG_CHANGES, Depth.CHILDREN),)

    def __init__(self, context: KeyContext) -> None:
        super().__init__(context)
        self._seen: dict[str, int] = {}  # notifications that are there: when they were seen first, in `elapsed_ms`

    def load(self, now_ms: int) -> list[Event]:  # noqa: ARG002
        """Those of former terms are left to this one, which does not know how old they are."""
        self.state.load_change_number(self._next_number())
        names = self.context.store.children(keys.CONFIG_CHANGES, timeout_s=self.context.timeout_s)
        self._seen = dict.fromkeys([f"{keys.CONFIG_CHANGES}/{name}" for name in names], self.context.elapsed_ms())
        return []

    def reread(self, key_ids: Sequence[object], now_ms: int) -> list[Event]:  # noqa: ARG002
        """Another client announced a change under this number."""
        self.state.changes.seen(self._next_number() - 1)
        return []

    def _next_number(self) -> int:
        return next_in_sequence(self.context.store, keys.CONFIG_CHANGES, keys.CONFIG_CHANGE, self.context.timeout_s)

    def look(self, paths: Collection[str], now_ms: int) -> list[Event]:
        found = self.named(paths)
        entries = self.context.many(list(found))
        if keys.CONFIG_CHANGES in paths:
            self.context.findings.below(keys.CONFIG_CHANGES, {})
        for path, entry in zip(found, entries, strict=True):
            self._take(path, entry)
        return self._old(now_ms)

    def _take(self, path: str, entry: Entry | None) -> None:
        self.context.findings.good(path)
        if entry is None:
            self._seen.pop(path, None)
        else:
            self._seen.setdefault(path, self.context.elapsed_ms())
        number = number_in_sequence(keys.CONFIG_CHANGE, name_of(path))
        if number is not None:
            self.state.changes.seen(number)
        if entry is None:
            return
        try:
            kind, name = notifications.decode_config_change(entry.value)
        except BadValue as error:
            self.context.findings.bad(path, f"it is passed over: {error}")
            return
        if kind in {TOPICS, BROKERS, USERS, CLIENTS}:
            self.context.hint(f"/config/{kind}/{name}")

    def _old(self, now_ms: int) -> list[Event]:
        """Of many some at a time: the others go when something is looked at again."""
        elapsed_ms, paths = self.context.elapsed_ms(), sorted(self._seen)
        above = len(paths) - PILE_MAX
        old = [
            path
            for place, path in enumerate(paths[:-1])
            if self._seen[path] <= elapsed_ms - (PILED_AFTER_MS if place < above else PURGE_AFTER_MS)
        ]
        old = old[: max(1, min(_PURGED_MAX, self.context.store.capabilities.commit_ops_max - FENCE_OPS))]
        for path in old:
            del self._seen[path]
        return [ChangesDue(now_ms, tuple(old))] if old else []

    def cost_max(self, key_id: ConfigEntity) -> int:
        return 2 * OP_BYTES_FIXED + len(keys.CONFIG_CHANGES) + len(self._value(key_id))

    def key(self, key_id: ConfigEntity) -> str:
        return sequence_key(keys.CONFIG_CHANGES, keys.CONFIG_CHANGE, self.state.changes.number(key_id))

    def content(self, key_id: ConfigEntity) -> Content:
        """Nothing once no number is left, which only a planted key can cause: the config counts all the same."""
        return self._value(key_id) if self.state.changes.number(key_id) <= NUMBER_MAX else None

    def committed(self, key_id: ConfigEntity, key: str, version: int) -> None:
        """No version is kept: it is never written again, and `OldChangeKeys` deletes it at any version."""

    def _value(self, key_id: ConfigEntity) -> bytes:
        return notifications.encode_config_change(key_id.kind, key_id.name)


class OldChangeKeys(UnversionedKeys):
    """A notification that is deleted, unless a broker was faster: brokers purge them, too. `key_id`: its path."""

    name = "old change"

    def cost_max(self, key_id: str) -> int:
        return OP_BYTES_FIXED + len(key_id)
