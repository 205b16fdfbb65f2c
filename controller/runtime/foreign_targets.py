"""Moves from before a controller led here that is none of Kedge's (Kafka's own, say): weeks may lie between.

Kedge writes a state key and the commit token together. So a state key of an epoch that lies in a gap of the token's
epochs was written by somebody else; where there is none, nobody led in the gap (an election may have come to nothing).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final, TypeAlias

from controller.codec import BadValue, keys
from controller.codec.text import parse
from controller.model.events import ForeignTargetFound
from controller.model.values import Partition
from controller.state import ClusterState
from stores.base import MetadataStore

Gaps: TypeAlias = tuple[tuple[int, int], ...]
_PART: Final = 10_000  # state keys that are read at once


def foreign_targets(
    store: MetadataStore, state: ClusterState, gaps: Gaps, now_ms: int, timeout_s: float
) -> tuple[list[ForeignTargetFound], Gaps]:
    """The moves to cancel: their state key was last written before the end of the last gap in which somebody wrote.
    Second, the gaps for the tokens from now on: none if no move is to be cancelled, else one that begins at -1. The
    state keys of the moves lie in that gap themselves, so a later term that finds any left needs no other proof."""
    moving = {p.tp: p for p in state.moving()} if gaps else {}
    if not moving:
        return [], ()
    led_until, written = 0, list[tuple[int, Partition]]()
    for partition, epoch in _epochs(store, state, timeout_s):
        led_until = max([led_until, *(after for before, after in gaps if before < epoch < after)])
        if partition.tp in moving:
            written.append((epoch, partition))
    left = [
        ForeignTargetFound(now_ms, p.topic, p.partition, p.move)
        for epoch, p in written
        if p.move is not None and epoch < led_until
    ]
    return left, ((-1, led_until),) if left else ()


def _epochs(store: MetadataStore, state: ClusterState, timeout_s: float) -> Iterator[tuple[Partition, int]]:
    """Every partition whose state key says under which controller epoch it was written."""
    partitions = state.partitions()
    while part := list(islice(partitions, _PART)):
        read = store.get_columns([keys.state(p.topic, p.partition) for p in part], timeout_s=timeout_s)
        for partition, value in zip(part, read.values, strict=True):
            epoch = _epoch(value)
            if epoch is not None:
                yield partition, epoch


def _epoch(value: bytes | None) -> int | None:
    try:
        found = None if value is None else parse(value)
    except BadValue:
        return None
    epoch = found.get("controller_epoch") if isinstance(found, dict) else None
    return epoch if type(epoch) is int else None


def said_of(found: list[ForeignTargetFound]) -> str:
    """What people are told of them."""
    named = ", ".join(f"{event.topic}-{event.partition}" for event in found[:5])
    more = f" and {len(found) - 5} more" if len(found) > 5 else ""
    return (
        f"{len(found)} reassignments that were begun before another controller led here were dropped: {named}{more}; "
        "submit again those that are still wanted (Settings.resume_foreign_targets resumes such reassignments)"
    )
