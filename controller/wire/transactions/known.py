"""Which partitions there are, as far as the brokers of this process know. Requests of transactions are answered where
their coordinator is, and the active controller may be in another process."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from ...coordinators import partition_of
from ...model.logs import LogError
from ...model.values import TopicPartition
from ..data.logs import Logs
from ..slices import sliced


async def unknown(logs: Logs, partitions: Iterable[TopicPartition]) -> set[TopicPartition]:
    """Those that no broker knows."""
    wanted = dict.fromkeys(partitions)
    asked = {tp: asyncio.wrap_future(logs.bounds(None, tp, is_debugging=True)) async for tp in sliced(wanted)}
    answers = [(tp, await bounds) async for tp, bounds in sliced(asked.items())]
    return {tp for tp, bounds in answers if bounds.error is LogError.UNKNOWN_TOPIC_OR_PARTITION}


async def place_of(logs: Logs, topic: str, key: str) -> TopicPartition | None:
    """The partition that holds this key; None without the topic. Numbers have no gaps, so few are asked for."""
    known, missing = 0, 1
    while not await unknown(logs, [TopicPartition(topic, missing - 1)]):
        known, missing = missing, 2 * missing
    while missing - known > 1:
        middle = (known + missing) // 2
        if await unknown(logs, [TopicPartition(topic, middle - 1)]):
            missing = middle
        else:
            known = middle
    return TopicPartition(topic, partition_of(key, known)) if known else None
