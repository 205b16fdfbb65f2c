"""Partitions are removed from the end of a topic (KIP-694), under a private API key."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Final

from ...model.errors import ErrorCode
from ...model.requests import DeletePartitions
from ...model.view import ClusterView
from ..calls import Api, Call, on_cluster
from ..messages import messages_of
from ..protocol import Answer, Request
from ..slices import in_parts
from .answering import Outcome, of_all, outcome, outcomes, timeout_s

TWICE: Final = Outcome(None, ErrorCode.INVALID_REQUEST, "Duplicate topic name.")

Named = Mapping[str, list[int]]
"""Partitions by topic."""


async def delete_partitions(call: Call, request: Request) -> Answer:
    """Each topic separately, all of its named partitions or none. The status of a partition is the present one, also
    where the removal is refused. The error of a topic without named partitions is returned as that of the request."""
    times = Counter(topic.name for topic in request.topics)
    named = {topic.name: list(dict.fromkeys(topic.partitions)) for topic in request.topics}
    wanted = {
        topic.name: DeletePartitions(immediate_delete=request.immediate_delete, partitions=topic.partitions)
        for topic in request.topics
        if times[topic.name] == 1
    }
    done = {name: TWICE for name, count in times.items() if count > 1}
    done |= await outcomes(call.admin.delete_partitions(wanted, timeout_s=timeout_s(request)))
    refused = {name: named[name] for name, said in done.items() if said.error_code}
    now = (await outcome(_now(call, refused))).value or {}
    unplaced = [said for name, said in done.items() if said.error_code and not named[name]]
    whole = next(iter(unplaced), of_all(done.values()))
    return {**whole.fields, "responses": [_topic(name, named[name], done[name], now) for name in named]}


async def _now(call: Call, named: Named) -> dict[tuple[str, int], int]:
    """The status of the partitions that exist."""
    now: dict[tuple[str, int], int] = {}
    async for part in in_parts((name, number) for name, each in named.items() for number in each):
        now |= await call.query(_statuses, part)
    return now


def _statuses(named: Iterable[tuple[str, int]], view: ClusterView) -> dict[tuple[str, int], int]:
    found = ((key, view.partition(*key)) for key in named)
    return {key: p.status_code for key, p in found if p is not None}


def _topic(name: str, partitions: list[int], done: Outcome, now: Mapping[tuple[str, int], int]) -> dict[str, Any]:
    status: Mapping[int, int] = done.value or {}
    rows = [
        {"partition_index": p, "status_code": status.get(p, now.get((name, p), 0)), **done.fields} for p in partitions
    ]
    return {"name": name, "partitions": rows}


TABLE: Final = (
    Api(messages_of("DeletePartitions", range(1)), delete_partitions, on_cluster("ALTER", "topics", "responses")),
)
