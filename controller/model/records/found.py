"""Records about what was found in the store."""

from __future__ import annotations

from ..frozen import frozen
from .base import KeyVersion, Record


@frozen
class KeyVersionFound(Record):
    """The key of a partition (partition None: of a topic) was read again and is at `found`. Not in the journal."""

    topic: str
    partition: int | None
    found: KeyVersion
    before: KeyVersion


@frozen
class ForeignChange(Record):
    """Another program wrote a key of this controller; `detail` says what was accepted and what is overwritten. The key
    is written again (`is_rewritten`), unless another record does so."""

    topic: str
    partition: int | None
    detail: str
    is_rewritten: bool = True


@frozen
class BadKey(Record):
    """The key of a partition (partition None: of a topic) cannot be read: `problem`. None: it can be read again, and
    `before` is the former problem."""

    topic: str
    partition: int | None
    problem: str | None
    before: str | None = None
