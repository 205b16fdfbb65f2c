"""Rows about throttles: what was to be removed is taken back only while nothing moves, so far as the rows say."""

from __future__ import annotations

from typing import Final

from controller.audit.standing import Row, broken, topic_id_of, word
from controller.audit.term import ReplayedTerm

_REMOVAL: Final = "throttle removal"


def throttle_set(term: ReplayedTerm, row: Row) -> None:
    """Of a topic, or of a broker, of which nothing follows."""
    if "topic" in row and (topic_id := topic_id_of(row)):
        term.topics[word(row, "topic")] = topic_id


def throttle_given_back(term: ReplayedTerm, row: Row) -> None:
    """By a request that replaces it at any time; by the removal only once the last move has ended."""
    throttle_set(term, row)
    if row.get("cause") != _REMOVAL:
        return
    moving = [f"{topic}-{number}" for (topic, number), held in term.partitions.items() if held.target is not None]
    if moving:
        broken("throttle", "no move that runs when throttles are removed", moving[:20])
    if term.legacy_key:
        broken("throttle", "no legacy key when throttles are removed", "it is there")
