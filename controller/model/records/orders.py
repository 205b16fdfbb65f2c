"""Records about keys that hold requests: the legacy key, and notifications."""

from __future__ import annotations

import attrs

from ..legacy import LegacyEntry, LegacyKey
from .base import Record


@attrs.frozen
class LegacySubmitted(Record):
    """A client wrote a plan to the legacy key, and it was read: the controller owns its content from now on."""

    after: LegacyKey


@attrs.frozen
class LegacyEntryRemoved(Record):
    """An entry of the legacy key is no longer in force: its move ended, a later request replaced it, or it was dropped
    (`reason`). `at_once`: this commit writes the key; otherwise a later one does."""

    entry: LegacyEntry
    cause: str
    at_once: bool
    reason: str | None = None


@attrs.frozen
class LegacyKeyRewritten(Record):
    """The legacy key is written again with the entries in force. Not in the journal."""


@attrs.frozen
class LegacyKeyRemoved(Record):
    """The legacy key is deleted, with its last entry or because it cannot be read."""


@attrs.frozen
class LegacyKeyChanged(Record):
    """Another program wrote or deleted the legacy key, which the controller owns: it is written or deleted again. In
    the journal: ForeignChange."""

    after: LegacyKey
    detail: str


@attrs.frozen
class LegacyKeyBroken(Record):
    """The legacy key cannot be read, or (`after` is absent) another program removed an unreadable one. In the journal:
    BadKey."""

    before: LegacyKey
    after: LegacyKey


@attrs.frozen
class NotificationWorkedOff(Record):
    """A notification was processed; its key is deleted if it is still as it was read. `notes`: what was skipped, and
    why. `problem`: why it could not be read."""

    key: str
    notes: tuple[str, ...] = ()
    problem: str | None = None
