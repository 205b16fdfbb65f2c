"""Moves are requested, cancelled and listed (KIP-455).

Null replicas cancel the move of a partition. An empty list is refused as in Kafka (39), though some clients cannot send
null: it could mean a cancel, or that the brokers were forgotten. Null partitions cancel all moves of a topic, null
topics all moves; in a listing null partitions mean all that move. All of this is in KIP-455; Kafka itself has only null
topics of a listing, and no client of Kafka's sends the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any, Final

from ...admin import ALL, Results
from ...model.errors import ApiError, ErrorCode
from ...model.requests import AlterReassignmentsOptions, PartitionReassignment, ReassignmentAnswer
from ...model.values import Replicas, TopicPartition
from ..calls import Api, Call, on_cluster
from ..messages import messages_of
from ..protocol import Answer, Request
from ..slices import in_parts, sliced
from .answering import Outcome, beside, by_topic, by_topic_in_slices, failed, of_all, outcome, outcomes, timeout_s

TWICE: Final = Outcome(None, ErrorCode.INVALID_REQUEST, "The partition is named more than once.")


async def alter(call: Call, request: Request) -> Answer:
    """Each partition separately; an accepted move is written to the store, not completed."""
    options = AlterReassignmentsOptions(
        timeout_s=timeout_s(request),
        allow_replication_factor_change=call.version < 1 or request.allow_replication_factor_change,
    )
    if request.topics is None:
        whole, done = await _cancelled(call, ALL, options)
        return await _answer(options, whole, done)
    cancelled = {topic.name: None async for topic in sliced(request.topics) if topic.partitions is None}
    if [name async for name in sliced(_again(request.topics)) if name in cancelled]:
        return await _answer(options, TWICE, {})

    def begin() -> tuple[Results[TopicPartition, ReassignmentAnswer], set[TopicPartition]]:
        targets, twice = _targets(request.topics)
        return call.admin.alter_partition_reassignments(targets, options), twice

    size = sum([len(topic.partitions or ()) + 1 async for topic in sliced(request.topics)])
    futures, twice = await beside(call, begin, size)
    done = await outcomes(futures)
    wholes = []
    for name in cancelled:
        whole, more = await _cancelled(call, name, options)
        wholes.append(whole)
        done |= more
    whole = await beside(call, lambda: of_all([*wholes, *done.values()]), len(done))
    return await _answer(options, whole, done | dict.fromkeys(twice, TWICE))


def _again(topics: Any) -> Iterator[str | None]:
    """For each topic of the list its name, if it was named before."""
    seen: set[str] = set()
    for topic in topics:
        yield topic.name if topic.name in seen else None
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
    moves = {
        tp: failed(said) if isinstance(said, ApiError) else Outcome(said) async for tp, said in sliced(answers.items())
    }
    return Outcome(None, whole.error_code, whole.error_message), moves


async def _answer(options: AlterReassignmentsOptions, whole: Outcome, done: dict[TopicPartition, Outcome]) -> Answer:
    pairs = ((tp.topic, {"partition_index": tp.partition, **said.fields}) for tp, said in done.items())
    rows = await by_topic_in_slices(pairs)
    return {
        **whole.fields,
        "allow_replication_factor_change": options.allow_replication_factor_change,
        "responses": [{"name": name, "partitions": partitions} for name, partitions in rows.items()],
    }


async def list_moves(call: Call, request: Request) -> Answer:
    """The running moves of the named partitions, or all (null topics); null partitions mean all of the topic."""
    ask = partial(call.admin.list_partition_reassignments, timeout_s=timeout_s(request))
    if request.topics is None:
        told = [await outcome(ask())]
    else:
        whole = [topic.name async for topic in sliced(request.topics) if topic.partition_indexes is None]
        told = [await outcome(await beside(call, partial(ask, topics=whole), len(whole)))]
        async for part in in_parts(_named(request.topics)):
            told.append(await outcome(ask(filter(None, part))))
            if told[-1].error_code:
                break
    listings = [said.value for said in told if said.value]
    rows = await beside(call, lambda: _listed(listings), sum(map(len, listings)))
    error = next((said for said in told if said.error_code), Outcome())
    return {**error.fields, "topics": [{"name": name, "partitions": each} for name, each in rows.items()]}


def _named(topics: Iterable[Any]) -> Iterator[TopicPartition | None]:
    """The named partitions; None after each topic, so that a reader has pauses among topics without partitions."""
    for topic in topics:
        yield from (TopicPartition(topic.name, partition) for partition in topic.partition_indexes or ())
        yield None


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
