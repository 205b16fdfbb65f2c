"""ListOffsets: begin and end of a log, and the offset of a time. OffsetForLeaderEpoch: the end of a leader epoch, which
consumers need after a change of leaders."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any, Final

import attrs

from ...model.logs import LogBounds, LogError
from ...model.values import TopicPartition
from ...runtime.turns import Work
from ..calls import CLUSTER_ACTION, Api, Call, on_rows
from ..messages import messages_of
from ..protocol import Answer, Request
from .aside import Aside
from .fetch import READ_COMMITTED
from .logs import Logs
from .times import Found, first_since, newest

LATEST: Final = -1
EARLIEST: Final = -2
NEWEST_TIMESTAMP: Final = -3
EARLIEST_LOCAL: Final = -4
DEBUGGING_REPLICA: Final = -2
"""Kafka's replica id of a client that is neither consumer nor replica: a follower answers it as well, and the latest
offset is the end of the broker's own log, not the high watermark."""
_NOTHING: Final = Found(-1, -1, -1)


@attrs.frozen
class _Reading:
    """A request. `is_debugging`: of a client that reads as a replica does."""

    call: Call
    is_debugging: bool
    isolation_level: int


def table(logs: Logs, aside: Aside) -> Iterator[Api]:
    """The rows, over these logs. `aside`: searches batches."""

    async def list_offsets(call: Call, request: Request) -> Answer:
        wanted = [(topic.name, part) for topic in request.topics for part in topic.partitions]
        rows: dict[str, list[dict[str, Any]]] = {topic.name: [] for topic in request.topics}
        asked = _Reading(call, request.replica_id == DEBUGGING_REPLICA, getattr(request, "isolation_level", 0))
        for name, part in wanted:
            tp = TopicPartition(name, part.partition_index)
            rows[name].append(await _offset(logs, aside, asked, tp, part))
        return {"topics": [{"name": name, "partitions": parts} for name, parts in rows.items()]}

    async def offset_for_leader_epoch(call: Call, request: Request) -> Answer:
        topics = []
        for topic in request.topics:
            rows = [await _epoch_end(logs, call, TopicPartition(topic.topic, p.partition), p) for p in topic.partitions]
            topics.append({"topic": topic.topic, "partitions": rows})
        return {"topics": topics}

    of_epochs = messages_of("OffsetForLeaderEpoch", range(5))
    followers_too = on_rows("DESCRIBE", "topics", "topics", or_on_cluster=CLUSTER_ACTION)
    yield Api(of_epochs, offset_for_leader_epoch, followers_too, is_of_logs=True)
    yield Api(
        messages_of("ListOffsets", range(1, 10)), list_offsets, on_rows("DESCRIBE", "topics", "topics"), is_of_logs=True
    )


async def _epoch_end(logs: Logs, call: Call, tp: TopicPartition, part: Any) -> dict[str, Any]:
    present = -1 if part.current_leader_epoch is None else part.current_leader_epoch
    found = await asyncio.wrap_future(logs.end_of_epoch(call.broker_id, tp, part.leader_epoch, present))
    return {
        "partition": tp.partition,
        "error_code": int(found.error),
        "leader_epoch": found.leader_epoch,
        "end_offset": found.end_offset,
    }


async def _offset(logs: Logs, aside: Aside, asked: _Reading, tp: TopicPartition, part: Any) -> dict[str, Any]:
    since_ms = part.timestamp if part.timestamp >= 0 else -1 if part.timestamp == NEWEST_TIMESTAMP else None
    epoch = -1 if part.current_leader_epoch is None else part.current_leader_epoch
    named: Any = {"since_ms": since_ms, "is_debugging": asked.is_debugging, "client": asked.call.client}
    bounds = await asyncio.wrap_future(logs.bounds(asked.call.broker_id, tp, epoch, **named))
    if asked.isolation_level == READ_COMMITTED:
        bounds = _below_stable(bounds)
    found = _known(bounds, part.timestamp, is_debugging=asked.is_debugging)
    if found is None:
        found = await aside.done(asked.call.client, _search(bounds, part.timestamp)) or _NOTHING
    return {
        "partition_index": tp.partition,
        "error_code": _code(bounds.error, asked.call.version),
        "offset": found.offset,
        "timestamp": found.timestamp_ms,
        "leader_epoch": found.leader_epoch,
    }


def _below_stable(bounds: LogBounds) -> LogBounds:
    """The bounds for a read_committed consumer."""
    batches = tuple(stored for stored in bounds.batches if stored.end_offset <= bounds.stable_offset)
    return attrs.evolve(bounds, high_watermark=bounds.stable_offset, batches=batches)


def _known(bounds: LogBounds, asked: int, *, is_debugging: bool) -> Found | None:
    """The answer, unless it is in the records of batches."""
    if bounds.error:
        return _NOTHING
    if asked == LATEST:
        return Found(bounds.end_offset if is_debugging else bounds.high_watermark, -1, bounds.leader_epoch)
    if asked in {EARLIEST, EARLIEST_LOCAL}:
        return Found(bounds.start_offset, -1, bounds.leader_epoch)
    return None if bounds.batches else _NOTHING  # no such record, and no storage is tiered


def _search(bounds: LogBounds, asked: int) -> Work[Found | None]:
    if asked == NEWEST_TIMESTAMP:
        return newest(bounds.batches, bounds.start_offset)
    return first_since(bounds.batches, bounds.start_offset, asked)


def _code(error: LogError, version: int) -> int:
    """The code of an error; clients before version 5 do not know OFFSET_NOT_AVAILABLE, which they should retry."""
    is_new = error is LogError.OFFSET_NOT_AVAILABLE and version < 5
    return int(LogError.LEADER_NOT_AVAILABLE if is_new else error)
