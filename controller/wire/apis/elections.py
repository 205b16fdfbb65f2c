"""ElectLeaders: preferred leaders, or unclean ones for partitions without a leader."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any, Final

from ...admin import ALL
from ...model.errors import ApiError, ErrorCode
from ...model.requests import ElectionType
from ...model.values import TopicPartition
from ..calls import Api, Call, on_cluster
from ..messages import messages_of
from ..protocol import Answer, Request
from ..slices import sliced
from .answering import Outcome, beside, by_topic_in_slices, failed, timeout_s

_TYPES: Final = {0: ElectionType.PREFERRED, 1: ElectionType.UNCLEAN}


async def elect_leaders(call: Call, request: Request) -> Answer:
    """Each partition separately. Null means all; the answer then has only those that needed an election. Version 0 has
    preferred elections only."""
    named = request.topic_partitions
    wanted = None if named is None else list({tp: None async for tp in sliced(_named(named))})
    kind = _TYPES.get(request.election_type if call.version >= 1 else 0)
    if kind is None:
        message = f"There is no election type {request.election_type}."
        return await _answer(Outcome(None, ErrorCode.INVALID_REQUEST, message), wanted or [])
    elect = partial(call.admin.elect_leaders, kind, ALL if wanted is None else wanted, timeout_s=timeout_s(request))
    future = await beside(call, elect, len(wanted or ()))
    try:
        done = await asyncio.wrap_future(future)
    except ApiError as error:
        if call.version == 0 and wanted is None:
            raise  # this version has no field for an error of the whole request
        return await _answer(failed(error), wanted or [])
    return await _rows((tp, Outcome() if error is None else failed(error)) for tp, error in done.items())


def _named(topics: Any) -> Iterator[TopicPartition]:
    return (TopicPartition(topic.topic, partition) for topic in topics for partition in topic.partitions)


async def _answer(whole: Outcome, named: list[TopicPartition]) -> Answer:
    """One error for all, repeated for each partition: version 0 has no other field for it."""
    return await _rows((tp, whole) for tp in named) | {"error_code": whole.error_code}


async def _rows(done: Iterable[tuple[TopicPartition, Outcome]]) -> dict[str, Any]:
    pairs = ((tp.topic, {"partition_id": tp.partition, **said.fields}) for tp, said in done)
    rows = await by_topic_in_slices(pairs)
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
