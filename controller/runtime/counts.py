"""Counts of the committed state, for readers of any thread."""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from ..state import ClusterState
from ..state.tally import Tally


@attrs.frozen
class Counts:
    """`problems`: why keys cannot be read, by topic or partition."""

    live_brokers: tuple[int, ...]
    topics: int
    partitions: int
    moves: int
    intents: int
    problems: Mapping[str, str]
    deleting_topics: tuple[str, ...]
    throttles_to_remove: Mapping[str, tuple[str, ...]]
    tally: Tally | None = None


def counts_of(state: ClusterState) -> Counts:
    return Counts(
        tuple(sorted(state.brokers)),
        len(state.topics),
        state.partition_total(),
        len(state.moves),
        len(state.intents),
        {topic if p is None else f"{topic}-{p}": why for (topic, p), why in state.problems.items()},
        tuple(sorted(state.deletions)),
        {kind: tuple(owners) for kind, owners in state.throttles.told().items()},
        None if state.tally is None else state.tally.copy(),
    )
