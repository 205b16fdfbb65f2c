"""Keys in which others ask for something: the legacy key, and notifications."""

from __future__ import annotations

from controller.model.frozen import frozen
from controller.model.legacy import LegacyEntry, LegacyKey
from controller.model.records.base import Record


@frozen
class LegacySubmitted(Record):
    """Somebody wrote a plan to the legacy key, and it was read: from now on the controller owns its content. `before`:
    the key was absent, or could not be read."""

    before: LegacyKey
    after: LegacyKey


@frozen
class LegacyEntryRemoved(Record):
    """An entry of the legacy key is not in force any more: its move ended, a later request took its place, or it was
    dropped (`reason`). `at_once`: the key is written in this commit; otherwise soon."""

    entry: LegacyEntry
    cause: str
    at_once: bool
    reason: str | None = None


@frozen
class LegacyKeyRewritten(Record):
    """The legacy key is written again with the entries that are in force. Not in the journal."""


@frozen
class LegacyKeyRemoved(Record):
    """The legacy key goes: with its last entry, or because it cannot be read."""


@frozen
class LegacyKeyChanged(Record):
    """Somebody else wrote or deleted the legacy key, which the controller owns: it is written again, or removed again.
    In the journal: ForeignChange."""

    before: LegacyKey
    after: LegacyKey
    detail: str


@frozen
class LegacyKeyBroken(Record):
    """The legacy key cannot be read, or (`after` is absent) somebody removed one that could not. In the journal:
    BadKey."""

    before: LegacyKey
    after: LegacyKey


@frozen
class NotificationWorkedOff(Record):
    """A notification (a key that others put for the controller) was worked off, and is deleted if it is still
    at the `version` that was read. `notes`: what was passed over, and why. `problem`: why it could not be read."""

    key: str
    version: int
    notes: tuple[str, ...] = ()
    problem: str | None = None
