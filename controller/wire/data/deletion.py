"""DeleteRecords, up to the high watermark as in Kafka; offset -1 means the high watermark."""

from __future__ import annotations

import asyncio
from typing import Any

from ...model.logs import LogBounds, LogError
from ...model.values import TopicPartition
from ..calls import Api, Call, on_rows
from ..messages import messages_of
from ..protocol import Answer, Request
from ..reading import INTERNAL
from .logs import Logs


def row(logs: Logs) -> Api:
    async def delete_records(call: Call, request: Request) -> Answer:
        topics = []
        for topic in request.topics:
            rows = [await _row(logs, call, topic.name, part) for part in topic.partitions]
            topics.append({"name": topic.name, "partitions": rows})
        return {"topics": topics}

    return Api(
        messages_of("DeleteRecords", range(3)), delete_records, on_rows("DELETE", "topics", "topics"), is_of_logs=True
    )


async def _row(logs: Logs, call: Call, name: str, part: Any) -> dict[str, Any]:
    bounds = LogBounds(LogError.INVALID_TOPIC_EXCEPTION)
    if name not in INTERNAL:
        future = logs.delete_records(call.broker_id, TopicPartition(name, part.partition_index), part.offset)
        bounds = await asyncio.wrap_future(future)
    return {
        "partition_index": part.partition_index,
        "low_watermark": bounds.start_offset,
        "error_code": int(bounds.error),
    }
