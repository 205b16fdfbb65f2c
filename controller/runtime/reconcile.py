"""Hints -> reads -> events: what a term reads again from the store.

A hint is the path of a key that may have changed. The class of the key (`kedge.controller.keys`) reads what is needed,
and makes events for the machine of the content. Reads are made between batches. A failed read is repeated with all
hints of its kind.

No hint says that an unreadable key has become readable, so these keys are read again at intervals.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ...stores.base import Changed, Resync, StoreEvent
from ..codec import keys
from ..keys.brokers import RegistrationKeys
from ..keys.deletions import DeletionKeys
from ..keys.legacy import LegacyKeys
from ..keys.reductions import ReductionKeys
from ..keys.table import KeyKinds
from ..model.events import Event
from .services import Services

RECHECK_MS: Final = 5_000  # how often a key that cannot be read is read again
_UNWATCHED: Final = (keys.ADMITTED + "/", keys.REPLICA_DELETIONS + "/")  # only controllers write these


class Reconcile:
    """The reads of one term."""

    def __init__(self, services: Services, kinds: KeyKinds) -> None:
        self._services = services
        self.kinds = kinds
        self.findings = kinds.context.findings
        self.registrations = kinds.one(RegistrationKeys)
        self._legacy = kinds.one(LegacyKeys)
        self._recheck_ms = services.elapsed_ms() + RECHECK_MS

    def next_due_ms(self, elapsed_ms: int) -> int | None:
        """When to read without a new hint, in `elapsed_ms`; at once if a commit requires it."""
        if self.registrations.is_due or self.kinds.has_hints:
            return elapsed_ms
        times = [self._recheck_ms if self._has_to_recheck else None, self._legacy.next_due_ms(elapsed_ms)]
        return min((time for time in times if time is not None), default=None)

    @property
    def _has_to_recheck(self) -> bool:
        return bool(self.kinds.state.problems or self.findings.under(_UNWATCHED))

    def hint(self, event: StoreEvent) -> None:
        """Remember a hint."""
        if isinstance(event, Changed | Resync):
            self.kinds.hint(event.key if isinstance(event, Changed) else event.prefix)

    def hint_requests(self) -> None:
        """A topic was found: a request for its deletion or reduction may have waited for it."""
        for kind in (DeletionKeys, ReductionKeys):
            self.kinds.hint(kind.roots[0][0])

    def look(self, now_ms: int, elapsed_ms: int) -> Iterator[list[Event]]:
        """Read what hints name; yield the events, kind by kind. Raises the store's errors."""
        if self._has_to_recheck and elapsed_ms >= self._recheck_ms:
            self._recheck()
            self._recheck_ms = elapsed_ms + RECHECK_MS
        if self.kinds.has_hints:
            for kind in self.kinds:
                if kind.hinted:
                    events = kind.look(kind.hinted, now_ms)
                    kind.hinted = {}
                    yield events
            self.kinds.has_hints = any(kind.hinted for kind in self.kinds)  # of a kind that was read before
        yield self.registrations.due(now_ms)
        yield self._legacy.due(now_ms, elapsed_ms, are_all_admitted=self.registrations.are_all_admitted)

    def _recheck(self) -> None:
        """Read broken keys again."""
        kinds = self.kinds
        for name, partition in kinds.state.problems:
            kinds.hint(keys.topic(name) if partition is None else keys.state(name, partition))
        for at, value in kinds.context.columns(self.findings.under(_UNWATCHED)):
            if value is None:
                self.findings.good(at.path)
