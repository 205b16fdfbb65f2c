"""Fetch: whole batches from the leader, below the high watermark, or for read_committed below the last stable offset.
There are no fetch sessions: each request names its partitions, and clients that offer to begin a session continue
without."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

import attrs

from ...model.logs import Fetched, FetchFrom, LogError
from ...model.values import TopicPartition
from ..apis.answering import by_topic_in_slices
from ..calls import Api, Call, on_rows
from ..messages import messages_of
from ..protocol import Answer, Request
from ..slices import sliced
from .batches import written
from .logs import Logs

READ_COMMITTED: Final = 1
WAIT_MS_MAX: Final = 30_000  # a client may send more; it then gets an empty answer, and repeats the request
BYTES_MAX: Final = 8 * 1024 * 1024  # of one answer: clients request up to 50 MiB, and accept less
WAITING_MAX: Final = 100_000
"""Partitions that one client may wait for. A fetch beyond it is answered when its time is over."""
MANY: Final = 1000
MANY_WAITING_MAX: Final = 25_000
"""The same for fetches of more than `MANY` partitions, counted by themselves. One beyond it is answered at once, since
it would hold a part of what all requests may have (`Limits.elements`) while it waits; its client is to wait instead."""
THROTTLE_MS: Final = 500


def table(logs: Logs) -> Iterator[Api]:
    waiting: Counter[tuple[str, bool]] = Counter()  # partitions in the small and in the large fetches of each client

    async def fetch(call: Call, request: Request) -> Answer:
        if getattr(request, "session_id", 0):
            return {"error_code": LogError.FETCH_SESSION_ID_NOT_FOUND, "session_id": 0, "responses": []}
        wanted, is_committed = {}, request.isolation_level == READ_COMMITTED
        async for topic in sliced(request.topics):
            async for part in sliced(topic.partitions):
                wanted[TopicPartition(topic.topic, part.partition)] = _since(part, is_committed=is_committed)
        wait_ms = min(max(request.max_wait_ms, 0), WAIT_MS_MAX)
        count, throttle_ms = len(wanted), 0
        is_large = count > MANY
        who = (call.client, is_large)
        if waiting[who] + count > (MANY_WAITING_MAX if is_large else WAITING_MAX):
            if is_large:
                throttle_ms = min(wait_ms, THROTTLE_MS)
            else:
                await asyncio.sleep(wait_ms / 1000)
            wait_ms = 0
        waiting[who] += count
        try:
            future = logs.fetch(
                call.broker_id,
                wanted,
                bytes_max=min(max(request.max_bytes, 0), BYTES_MAX),
                bytes_min=min(max(request.min_bytes, 0), BYTES_MAX // 2),
                wait_ms=wait_ms,
                client=call.client,
            )
            found = await asyncio.wrap_future(future)
        finally:
            waiting[who] -= count
            if not waiting[who]:
                del waiting[who]
        await call.make_room(sum(fetched.size_bytes for fetched in found.values()))
        rows = ((tp.topic, _row(tp.partition, fetched)) for tp, fetched in found.items())
        topics = await by_topic_in_slices(rows)
        return {
            "throttle_time_ms": throttle_ms,
            "error_code": 0,
            "session_id": 0,
            "responses": [{"topic": topic, "partitions": each} for topic, each in topics.items()],
        }

    yield Api(messages_of("Fetch", range(4, 13)), fetch, on_rows("READ", "topics", "responses"), is_of_logs=True)


def _since(part: Any, *, is_committed: bool) -> FetchFrom:
    epoch = part.current_leader_epoch
    bytes_max = max(part.partition_max_bytes, 0)
    return FetchFrom(part.fetch_offset, bytes_max, -1 if epoch is None else epoch, is_committed)


def _row(partition: int, fetched: Fetched) -> dict[str, Any]:
    return {
        "partition_index": partition,
        "error_code": int(fetched.error),
        "high_watermark": fetched.high_watermark,
        "last_stable_offset": fetched.stable_offset,
        "log_start_offset": fetched.log_start_offset,
        "aborted_transactions": [attrs.asdict(each) for each in fetched.aborted],
        "preferred_read_replica": -1,
        "records": b"".join(written(stored) for stored in fetched.batches),
    }
