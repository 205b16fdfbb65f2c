"""Moves are requested, cancelled and listed (KIP-455).

Null replicas cancel the move of a partition. An empty list is refused as in Kafka (39), though some clients cannot send
null: it could mean a cancel, or that the brokers were forgotten. Null partitions cancel all moves of a topic, null
topics all moves; in a listing null partitions mean all that move. All of this is in KIP-455; Kafka itself has only null
topics of a listing, and no client of Kafka's sends the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from ...admin import ALL, Results
from ...model.errors import ApiError, ErrorCode
from ...model.requests import AlterReassignmentsOptions, PartitionReassignment, ReassignmentAnswer
from ...model.values import Replicas, TopicPartition
from ..calls import Api, Call, on_cluster
from ..messages import messages_of
from ..protocol import Answer, Request
from .answering import Outcome, beside, by_topic, failed, of_all, outcome, outcomes, timeout_s

TWICE: Final = Outcome(None, ErrorCode.INVALID_REQUEST, "The partition is named more than once.")


async def alter(call: Call, request: Request) -> Answer:
    """Each partition separately; an accepted move is written to the store, not completed."""
    options = AlterReassignmentsOptions(
        timeout_s=timeout_s(request),
        allow_replication_factor_change=call.version < 1 or request.allow_replication_factor_change,
    )
    if request.topics is None:
        whole, done = await _cancelled(call, ALL, options)
        return _answer(options, whole, done)
    cancelled = [topic.name for topic in request.topics if topic.partitions is None]
    if any(name in cancelled for name in _again(request.topics)):
        return _answer(options, TWICE, {})

    def begin() -> tuple[Results[TopicPartition, ReassignmentAnswer], set[TopicPartition]]:
        targets, twice = _targets(request.topics)
        return call.admin.alter_partition_reassignments(targets, options), twice

    futures, twice = await beside(call, begin, sum(len(topic.partitions or ()) for topic in request.topics))
    done = await outcomes(futures)
    wholes = []
    for name in cancelled:
        whole, more = await _cancelled(call, name, options)
        wholes.append(whole)
        done |= more
    return _answer(options, of_all([*wholes, *done.values()]), done | dict.fromkeys(twice, TWICE))


def _again(topics: Any) -> Iterator[str]:
    """Names of topics that were named before in the list."""
    seen: set[str] = set()
    for topic in topics:
        if topic.name in seen:
            yield topic.name
        seen.add(topic.name)


def _targets(topics: Any) -> tuple[dict[TopicPartition, Replicas | None], set[TopicPartition]]:
    """The requested targets, and the partitions that are named twice, which are not among the former."""
    targets: dict[TopicPartition, Replicas | None] = {}
    twice: set[TopicPartition] = set()
    for topic in topics:
        for partition in topic.partitions or ():
            tp = TopicPartition(topic.name, partition.partition_index)
            twice |= {tp} & targets.keys()
            targets[tp] = None if partition.replicas is None else tuple(partition.replicas)
    return {tp: target for tp, target in targets.items() if tp not in twice}, twice


async def _cancelled(
    call: Call, topic: Any, options: AlterReassignmentsOptions
) -> tuple[Outcome, dict[TopicPartition, Outcome]]:
    """The outcome of the whole request, and of each cancelled move."""
    whole = await outcome(call.admin.cancel_partition_reassignments(topic, options))
    answers = whole.value or {}
    moves = {tp: failed(said) if isinstance(said, ApiError) else Outcome(said) for tp, said in answers.items()}
    return Outcome(None, whole.error_code, whole.error_message), moves


def _answer(options: AlterReassignmentsOptions, whole: Outcome, done: dict[TopicPartition, Outcome]) -> Answer:
    rows = by_topic((tp.topic, {"partition_index": tp.partition, **said.fields}) for tp, said in done.items())
    return {
        **whole.fields,
        "allow_replication_factor_change": options.allow_replication_factor_change,
        "responses": [{"name": name, "partitions": partitions} for name, partitions in rows.items()],
    }


async def list_moves(call: Call, request: Request) -> Answer:
    """The running moves of the named partitions, or all (null topics); null partitions mean all of the topic."""
    topics = request.topics if request.topics is not None else ()
    whole = [topic.name for topic in topics if topic.partition_indexes is None]
    named = [TopicPartition(topic.name, partition) for topic in topics for partition in topic.partition_indexes or ()]
    ask, wait_s = call.admin.list_partition_reassignments, timeout_s(request)
    told = [
        await outcome(ask(named, timeout_s=wait_s)),
        await outcome(ask(topics=ALL if request.topics is None else whole, timeout_s=wait_s)),
    ]
    listings = [said.value for said in told if said.value is not None]
    rows = await beside(call, lambda: _listed(listings), sum(map(len, listings)))
    error = next((said for said in told if said.error_code), Outcome())
    return {**error.fields, "topics": [{"name": name, "partitions": each} for name, each in rows.items()]}


def _listed(listings: Iterable[Mapping[TopicPartition, PartitionReassignment]]) -> dict[str, list[dict[str, Any]]]:
    """The moves by topic, in order. A listing builds each description only when it is read."""
    moves = {(tp.topic, tp.partition): move for listing in listings for tp, move in listing.items()}
    return by_topic((name, _move(partition, moves[name, partition])) for name, partition in sorted(moves))


def _move(partition: int, move: PartitionReassignment) -> dict[str, Any]:
    """As tools calculate: brokers that were not in the replicas before the move count as being added until its end, so
    that `replicas` without them has the former length at any time."""
    removing = tuple(broker for broker in move.replicas if broker not in move.target_replicas)
    return {
        "partition_index": partition,
        "replicas": move.target_replicas + removing,
        "adding_replicas": tuple(broker for broker in move.target_replicas if broker not in move.origin),
        "removing_replicas": removing,
    }


TABLE: Final = (
    Api(messages_of("AlterPartitionReassignments", range(2)), alter, on_cluster("ALTER", "topics", "responses")),
    Api(messages_of("ListPartitionReassignments", range(1)), list_moves, on_cluster("DESCRIBE"), reads=True),
)
