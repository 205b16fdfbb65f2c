"""DeleteRecords, up to the high watermark as in Kafka; offset -1 means the high watermark."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from concurrent.futures import Future
from typing import Any, Protocol

from ...model.logs import LogBounds, LogError
from ...model.values import TopicPartition
from ..apis import versions
from ..calls import Api, Call, on_rows
from ..messages import messages_of
from ..protocol import Answer, Request
from ..reading import INTERNAL


class Deleting(Protocol):
    """Logs whose records can be deleted."""

    def delete_records(self, broker_id: int | None, tp: TopicPartition, before: int) -> Future[LogBounds]:
        """The log begins at `before` (-1: the high watermark), or later if it did already."""


def with_deletion(logs: Deleting, base: Mapping[int, Api]) -> dict[int, Api]:
    """The APIs of `base`, and DeleteRecords."""

    async def delete_records(call: Call, request: Request) -> Answer:
        topics = []
        for topic in request.topics:
            rows = [await _row(logs, call, topic.name, part) for part in topic.partitions]
            topics.append({"name": topic.name, "partitions": rows})
        return {"topics": topics}

    row = Api(
        messages_of("DeleteRecords", range(3)), delete_records, on_rows("DELETE", "topics", "topics"), is_of_logs=True
    )
    apis = {**base, row.messages.api_key: row}
    apis.update((api.messages.api_key, api) for api in versions.table(apis))
    return apis


async def _row(logs: Deleting, call: Call, name: str, part: Any) -> dict[str, Any]:
    bounds = LogBounds(LogError.INVALID_TOPIC_EXCEPTION)
    if name not in INTERNAL:
        future = logs.delete_records(call.broker_id, TopicPartition(name, part.partition_index), part.offset)
        bounds = await asyncio.wrap_future(future)
    return {
        "partition_index": part.partition_index,
        "low_watermark": bounds.start_offset,
        "error_code": int(bounds.error),
    }
