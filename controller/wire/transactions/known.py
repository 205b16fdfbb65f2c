"""Which partitions there are, as far as the brokers of this process know. Requests of transactions are answered where
their coordinator is, and the active controller may be in another process."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from itertools import count
from typing import Final

from ...coordinators import partition_of
from ...model.logs import LogError
from ...model.values import TopicPartition
from ..data.logs import Logs
from ..slices import in_parts

_BLOCK: Final = 50


async def unknown(logs: Logs, partitions: Iterable[TopicPartition]) -> set[TopicPartition]:
    """Those that no broker knows."""
    found = set()
    async for part in in_parts(partitions):
        asked = (asyncio.wrap_future(logs.bounds(None, tp, is_debugging=True)) for tp in part)
        answers = zip(part, await asyncio.gather(*asked), strict=True)
        found |= {tp for tp, bounds in answers if bounds.error is LogError.UNKNOWN_TOPIC_OR_PARTITION}
    return found


async def place_of(logs: Logs, topic: str, key: str) -> TopicPartition | None:
    """The partition that holds this key; None without the topic."""
    for first in count(0, _BLOCK):
        missing = await unknown(logs, [TopicPartition(topic, first + at) for at in range(_BLOCK)])
        if missing:
            number = min(tp.partition for tp in missing)
            return TopicPartition(topic, partition_of(key, number)) if number else None
    return None
