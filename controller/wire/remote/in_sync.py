"""AlterPartition: a leader changes its isr, and gets the committed one.

Topics are given by name up to version 1 and by id from 2 up. Version 3 has the epoch under which the leader knows each
member.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from concurrent.futures import Future
from typing import Any, Final, TypeAlias

from ...model.errors import ErrorCode
from ...model.values import TopicPartition
from ...model.view import ClusterView
from ..apis.answering import Outcome, outcome
from ..calls import OF_BROKER, Api, Call
from ..messages import messages_of
from ..protocol import Answer, Request
from ..reading import as_text
from ..slices import in_parts, sliced

Row = dict[str, Any]
Became: TypeAlias = Future[Any] | Outcome

UNKNOWN_TOPIC_ID: Final = 100


class IsrChanges:
    """The handler, with the last known names of topics by id."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self.api = Api(messages_of("AlterPartition"), self.alter_partition, OF_BROKER)

    async def alter_partition(self, call: Call, request: Request) -> Answer:
        """Errors of the whole: 41, 77, 7; of a partition: 3, 7, 41 where the leader knows newer epochs than this
        controller, 42, 74, 95, 100, 107."""
        topics = request.topics or ()
        ids = [as_text(topic.topic_id) async for topic in sliced(topics) if topic.topic_id is not None]
        known = await outcome(call.query(_names, ids, self._names))
        if known.error_code:
            return {"error_code": known.error_code, "topics": []}
        self._names = known.value
        answers: list[Row] = [
            {"topic_name": topic.topic_name, "topic_id": topic.topic_id, "partitions": []} for topic in topics
        ]
        asked = ((topic, at, p) for at, topic in enumerate(topics) for p in topic.partitions or ())
        async for part in in_parts(asked):
            changes = [_change(call, request, topic, p, known.value) for topic, _, p in part]
            rows = await asyncio.gather(*[_answered(request, *one) for one in changes])
            for (_, at, _), row in zip(part, rows, strict=True):
                if row["error_code"] == ErrorCode.STALE_BROKER_EPOCH:  # of the broker, not of the partition
                    return {"error_code": row["error_code"], "topics": []}
                answers[at]["partitions"].append(row)
        return {"error_code": 0, "topics": answers}


def _change(call: Call, request: Request, topic: Any, partition: Any, known: dict[str, str]) -> tuple[Any, Became]:
    """The change of one partition, and what becomes of it. It is submitted when this returns, so that the changes of a
    part of a request are decided in one batch."""
    name = topic.topic_name if call.version < 2 else topic.topic_id and known.get(as_text(topic.topic_id))
    if name is None:
        return partition, Outcome(error_code=UNKNOWN_TOPIC_ID)
    members = partition.new_isr_with_epochs or ()
    future = call.controller.alter_isr(
        TopicPartition(name, partition.partition_index),
        request.broker_id,
        partition.leader_epoch,
        partition.partition_epoch,
        [each.broker_id for each in members] if call.version >= 3 else partition.new_isr or (),
        request.broker_epoch,
        partition.leader_recovery_state,
        isr_epochs={each.broker_id: each.broker_epoch for each in members},
    )
    return partition, future


async def _answered(request: Request, partition: Any, became: Became) -> Row:
    """The isr and the partition epoch as committed; leader and leader epoch are those of the request."""
    found = became if isinstance(became, Outcome) else await outcome(became)
    row = {"partition_index": partition.partition_index, "error_code": found.error_code}
    if found.error_code:
        return row
    return row | {
        "leader_id": request.broker_id,
        "leader_epoch": partition.leader_epoch,
        "isr": list(found.value.isr),
        "leader_recovery_state": partition.leader_recovery_state,
        "partition_epoch": found.value.partition_epoch,
    }


def _names(ids: Iterable[str], cached: dict[str, str], view: ClusterView) -> dict[str, str]:
    """The topics by id, in its text form. All are searched only where an id does not have its last known name."""
    if all(_is(view, cached.get(topic_id), topic_id) for topic_id in ids):
        return cached
    topics = (topic for name in view.topic_names() if (topic := view.topic(name)) is not None)
    return {topic.topic_id: topic.name for topic in topics}


def _is(view: ClusterView, name: str | None, topic_id: str) -> bool:
    topic = None if name is None else view.topic(name)
    return topic is not None and topic.topic_id == topic_id
