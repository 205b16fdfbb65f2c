"""ElectLeaders: preferred leaders, or unclean ones for partitions without a leader."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from ...admin import ALL
from ...model.errors import ApiError, ErrorCode
from ...model.requests import ElectionType
from ...model.values import TopicPartition
from ..calls import Api, Call, on_cluster
from ..messages import messages_of
from ..protocol import Answer, Request
from .answering import Outcome, by_topic, failed, timeout_s

_TYPES: Final = {0: ElectionType.PREFERRED, 1: ElectionType.UNCLEAN}


async def elect_leaders(call: Call, request: Request) -> Answer:
    """Each partition separately. Null means all; the answer then has only those that needed an election. Version 0 has
    preferred elections only."""
    wanted = None if request.topic_partitions is None else _named(request.topic_partitions)
    kind = _TYPES.get(request.election_type if call.version >= 1 else 0)
    if kind is None:
        message = f"There is no election type {request.election_type}."
        return _answer(Outcome(None, ErrorCode.INVALID_REQUEST, message), wanted or [])
    future = call.admin.elect_leaders(kind, ALL if wanted is None else wanted, timeout_s=timeout_s(request))
    try:
        done = await asyncio.wrap_future(future)
    except ApiError as error:
        if call.version == 0 and wanted is None:
            raise  # this version has no field for an error of the whole request
        return _answer(failed(error), wanted or [])
    return _rows({tp: Outcome() if error is None else failed(error) for tp, error in done.items()})


def _named(topics: Any) -> list[TopicPartition]:
    return [TopicPartition(topic.topic, partition) for topic in topics for partition in topic.partitions]


def _answer(whole: Outcome, named: list[TopicPartition]) -> Answer:
    """One error for all, repeated for each partition: version 0 has no other field for it."""
    return _rows(dict.fromkeys(named, whole)) | {"error_code": whole.error_code}


def _rows(done: dict[TopicPartition, Outcome]) -> dict[str, Any]:
    rows = by_topic((tp.topic, {"partition_id": tp.partition, **said.fields}) for tp, said in done.items())
    return {
        "error_code": 0,
        "replica_election_results": [{"topic": name, "partition_result": each} for name, each in rows.items()],
    }


TABLE: Final = (
    Api(
        messages_of("ElectLeaders", range(3)),
        elect_leaders,
        on_cluster("ALTER", "topic_partitions", "replica_election_results"),
    ),
)
