"""Moves from before another program, such as Kafka's controller, led this cluster; they may be weeks old.

Kedge writes a state key and the commit token together. So a state key with an epoch in a gap of the token's epochs was
written by another program. If there is none, no controller led in the gap (an election may have had no commit).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final, TypeAlias

from ...stores.base import MetadataStore
from ..codec import BadValue, keys
from ..codec.text import parse
from ..model.events import ForeignTargetFound
from ..model.plural import counted
from ..model.values import Partition
from ..state import ClusterState

Gaps: TypeAlias = tuple[tuple[int, int], ...]
_PART: Final = 10_000  # state keys that are read together


def foreign_targets(
    store: MetadataStore, state: ClusterState, gaps: Gaps, now_ms: int, timeout_s: float
) -> tuple[list[ForeignTargetFound], Gaps]:
    """The moves to cancel: those whose state key was last written before the end of the last gap in which another
    program wrote. Also the gaps for the tokens from now on: none if there is no such move, otherwise one that begins at
    -1. The state keys of these moves are in that gap, so a later term that finds some left needs no other evidence."""
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
    """Every partition whose state key has a controller epoch, with that epoch."""
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
    """The finding about the cancelled moves."""
    named = ", ".join(f"{event.topic}-{event.partition}" for event in found[:5])
    more = f" and {len(found) - 5} more" if len(found) > 5 else ""
    return (
        f"{counted(len(found), 'reassignment')} dropped, which began before another controller led here: "
        f"{named}{more}; "
        "submit again those that are still wanted (Settings.resume_foreign_targets resumes such reassignments)"
    )
