"""Rows about throttles: those to be removed after a move are removed only while no move runs, as far as rows say."""

from __future__ import annotations

from typing import Final

from .standing import Row, broken, topic_id_of, word
from .term import ReplayedTerm

_REMOVAL: Final = "throttle removal"


def throttle_set(term: ReplayedTerm, row: Row) -> None:
    """A throttle of a topic, or of a broker; for a broker there is nothing to check."""
    if "topic" in row and (topic_id := topic_id_of(row)):
        term.topics[word(row, "topic")] = topic_id


def throttle_given_back(term: ReplayedTerm, row: Row) -> None:
    """A request that replaces the throttle is legal at any time; the removal only after the last move has ended."""
    throttle_set(term, row)
    if row.get("cause") != _REMOVAL:
        return
    moving = [f"{topic}-{number}" for (topic, number), held in term.partitions.items() if held.target is not None]
    if moving:
        broken("throttle", "no running move when throttles are removed", moving[:20])
    if term.legacy_key:
        broken("throttle", "no legacy key when throttles are removed", "it exists")
