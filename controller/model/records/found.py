"""Records about what was found in the store."""

from __future__ import annotations

import attrs

from .base import KeyAt, KeyVersion, Record


@attrs.frozen
class KeyAdopted(Record):
    """The controller uses the content that it read from a key, and the version of the key. Other records of the same
    Decision hold the content. Not in the journal."""

    at: KeyAt


@attrs.frozen
class StateKeyAdopted(Record):
    """As KeyAdopted, of the state key of a partition. Not in the journal."""

    topic: str
    partition: int
    at: KeyVersion


@attrs.frozen
class ForeignChange(Record):
    """Another program wrote a key of this controller; `detail` says what was accepted and what is overwritten. The key
    is written again (`is_rewritten`), unless another record does so."""

    topic: str
    partition: int | None
    detail: str
    is_rewritten: bool = True


@attrs.frozen
class BadKey(Record):
    """The key of a partition (partition None: of a topic) cannot be read: `problem`. None: it can be read again, and
    `before` is the former problem."""

    topic: str
    partition: int | None
    problem: str | None
    before: str | None = None
