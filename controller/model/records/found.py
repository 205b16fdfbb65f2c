"""What was found in the store."""

from __future__ import annotations

from controller.model.frozen import frozen
from controller.model.records.base import KeyVersion, Record


@frozen
class KeyVersionFound(Record):
    """The key of a partition (of a topic: partition None) was read again and stands at `found`. Not in the
    journal."""

    topic: str
    partition: int | None
    found: KeyVersion
    before: KeyVersion


@frozen
class ForeignChange(Record):
    """Somebody else wrote a key of ours; `detail` says what was taken over and what is overwritten. The key is
    written again (`is_rewritten`), but for one of which another record says so."""

    topic: str
    partition: int | None
    detail: str
    is_rewritten: bool = True


@frozen
class BadKey(Record):
    """The key of a partition (of a topic: partition None) cannot be read: `problem`. None: it can again; `before` is
    the problem that it had."""

    topic: str
    partition: int | None
    problem: str | None
    before: str | None = None


@frozen
class MigrationWorkedOff(Record):
    """The marker of a move to this store goes: every leader epoch is raised. `version`: where it stood."""

    version: int
