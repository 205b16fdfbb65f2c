"""The legacy key seen from the store: when it is read, when it is written again, what is said of it.

It is read when a hint says so, and at takeover by the loader. The entries that a takeover found are gone on with when
every registered broker is live: one that came while nobody led is no dead one. A key that names entries which are not
in force any more is written again after `topic_rewrite_interval_ms`, once for all that ended meanwhile.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

from controller.codec import BadValue, keys
from controller.codec import legacy as codec
from controller.model import records as r
from controller.model.events import Event, LegacyKeyDue, LegacyKeyRead, LegacyPlanDue
from controller.model.legacy import NO_KEY, LegacyKey
from controller.rules.legacy import DROPPED
from controller.runtime.findings import Findings
from controller.runtime.readable import FORBIDDEN
from controller.runtime.services import Services
from controller.runtime.unreadable import forbidden
from controller.state import ClusterState
from stores.base import Entry

_log = logging.getLogger(__name__)

SAID: Final = (r.LegacyEntryRemoved, r.LegacyKeyChanged, r.LegacyKeyBroken)


def as_key(entry: Entry | None) -> LegacyKey:
    """What an entry of the store says; one that cannot be read says why."""
    if entry is None:
        return NO_KEY
    if entry.value is FORBIDDEN:
        return LegacyKey(entry.version, problem=forbidden(entry.key))
    try:
        return codec.decode(entry.value, entry.version)
    except BadValue as error:
        return LegacyKey(entry.version, problem=f"{keys.REASSIGN_PARTITIONS}: {error}")


def say(record: r.Record) -> None:
    """The log hears of what somebody has to know who wrote the key."""
    if isinstance(record, r.LegacyEntryRemoved) and record.cause == DROPPED:
        entry = record.entry
        _log.warning("dropped from the legacy key: %.300r-%d: %s", entry.topic, entry.partition, record.reason)
    elif isinstance(record, r.LegacyKeyChanged):
        _log.warning("the legacy key: %s", record.detail)
    elif isinstance(record, r.LegacyKeyBroken) and record.after.problem is not None:
        _log.warning("the legacy key cannot be read: %s", record.after.problem)


class LegacyWatch:
    """When a term looks at the legacy key, and at what is in it."""

    def __init__(self, services: Services, state: ClusterState, findings: Findings) -> None:
        self._services = services
        self._findings = findings
        self._state = state
        self._hinted = False
        self._waits_for_brokers = state.legacy.is_there and state.legacy.key.problem is None
        self._behind_since_ms: int | None = None
        self._say(state.legacy.key)

    def hint(self) -> None:
        """Look at the key again."""
        self._hinted = True

    def look(self, now_ms: int) -> list[Event]:
        """The key, if it was hinted at. Raises what the store raises; nothing is forgotten before `due`."""
        return [self.read(now_ms)] if self._hinted else []

    def read(self, now_ms: int) -> LegacyKeyRead:
        """What the key holds now."""
        store = self._services.store
        found = as_key(store.get(keys.REASSIGN_PARTITIONS, sync=True, timeout_s=self._services.read_timeout_s))
        self._say(found)
        return LegacyKeyRead(now_ms, found)

    def _say(self, found: LegacyKey) -> None:
        if found.problem is None or found.version == r.UNREAD:  # said by the store
            self._findings.good(keys.REASSIGN_PARTITIONS)
        else:
            self._findings.bad(keys.REASSIGN_PARTITIONS, found.problem)

    def due(self, now_ms: int, elapsed_ms: int, *, all_admitted: Callable[[], bool]) -> list[Event]:
        """What there is to do without a hint; what was hinted at is forgotten."""
        self._hinted = False
        events: list[Event] = []
        if self._waits_for_brokers and all_admitted():
            self._waits_for_brokers = False
            events.append(LegacyPlanDue(now_ms))
        if not self._is_late():
            self._behind_since_ms = None
        elif self._behind_since_ms is None:
            self._behind_since_ms = elapsed_ms
        elif elapsed_ms >= self._behind_since_ms + self._services.settings.topic_rewrite_interval_ms:
            self._behind_since_ms = None
            events.append(LegacyKeyDue(now_ms))
        return events

    def _is_late(self) -> bool:
        legacy = self._state.legacy
        if legacy.key.version == r.UNREAD:
            return False
        return legacy.is_behind or (legacy.is_there and legacy.key.problem is not None and not self._state.moves)

    def next_due_ms(self) -> int | None:
        """When `due` has something to say, in `elapsed_ms`; None if not by time."""
        if not self._is_late():
            return None
        if self._behind_since_ms is None:
            return self._services.elapsed_ms()
        return self._behind_since_ms + self._services.settings.topic_rewrite_interval_ms
