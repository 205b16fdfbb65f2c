"""The topic key: R of every partition, topic_id, and Kafka's own running moves.

v1 `{"version":1,"partitions":{"0":[1,2]}}`; v2 adds `adding_replicas` and `removing_replicas`, v3 `topic_id`. All are
read, v3 is written, with `retired_epochs` after a reduction. Kedge's moves are in the state keys; the two maps of Kafka
keep a move until the commit that takes it over as `targetReplicas`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import Final

import attrs

from ..model.values import KafkaMove, Replicas, Topic
from .text import (
    EPOCH_MAX,
    bad,
    broker_ids,
    dump_extra,
    dump_ids,
    dump_name,
    fields,
    number,
    parse,
    text,
    unknown_fields,
)

WITHOUT_HOLES: Final = "the ids 0..n-1"
_WRITTEN: Final = frozenset({"version", "partitions", "topic_id", "adding_replicas", "removing_replicas"})
_KNOWN: Final = _WRITTEN | {"retired_epochs"}
_UUID: Final = re.compile("[A-Za-z0-9_-]{22}")  # url-safe base64 of 16 bytes without padding


@attrs.frozen
class TopicKey:
    """The content of a topic key. `topic.topic_id` is "" in v1 and v2. `adding`, `removing`: only partitions with a
    non-empty list."""

    topic: Topic
    assignments: tuple[Replicas, ...]
    adding: Mapping[int, Replicas]
    removing: Mapping[int, Replicas]


def decode(value: bytes, name: str) -> TopicKey:
    """The topic key in `value`. Raises BadValue: no JSON, ids other than 0..n-1, lists that are no broker ids."""
    return of(parse(value), name, {})


def of(
    raw: object, name: str, lists: dict[Replicas, Replicas], assignments: tuple[Replicas, ...] | None = None
) -> TopicKey:
    """`decode` of parsed JSON. `lists`: lists that were valid before, so that equal ones become one object;
    `assignments`: R of each partition, where it is known already."""
    found = fields(raw, "topic")
    number(found.get("version", 1), "version", 1, 1000)
    topic_id = text(found.get("topic_id") or "", "topic_id")
    if topic_id and _UUID.fullmatch(topic_id) is None:
        bad("topic_id", "22 characters of url-safe base64", topic_id)
    if assignments is None:
        assignments = _assignments(found.get("partitions"), lists)
    if found.keys() == _WRITTEN and not found["adding_replicas"] and not found["removing_replicas"]:
        return TopicKey(Topic(name, topic_id), assignments, {}, {})  # nearly every topic at nearly any time
    retired = fields(found.get("retired_epochs") or {}, "retired_epochs")
    epochs = {_partition(p, "retired_epochs"): number(e, "retired_epochs", 0, EPOCH_MAX) for p, e in retired.items()}
    adding = _ids_by_partition(found.get("adding_replicas") or {}, "adding_replicas", may_be_empty=True)
    removing = _ids_by_partition(found.get("removing_replicas") or {}, "removing_replicas", may_be_empty=True)
    moves = {
        p: KafkaMove(assignments[p], adding.get(p, ()), removing.get(p, ()))
        for p in sorted({*adding, *removing})
        if p < len(assignments)
    }
    return TopicKey(
        Topic(name, topic_id, epochs, unknown_fields(found, _KNOWN), moves),
        assignments,
        adding,
        removing,
    )


def _assignments(raw: object, lists: dict[Replicas, Replicas]) -> tuple[Replicas, ...]:
    found = fields(raw, "partitions")
    if not found:
        bad("partitions", "at least one", found)
    try:
        raws = [found[name] for name in _names(len(found))]
        known = [lists[tuple(raw)] for raw in raws]  # type: ignore[arg-type]
        if set(map(type, chain.from_iterable(raws))) == {int}:  # type: ignore[arg-type] # a dict finds 1 for True
            return tuple(known)
    except (KeyError, TypeError):
        pass
    partitions = _ids_by_partition(found, "partitions")
    if partitions.keys() != set(range(len(partitions))):
        bad("partitions", WITHOUT_HOLES, sorted(partitions))
    return tuple(lists.setdefault(partitions[p], partitions[p]) for p in range(len(partitions)))


@lru_cache(maxsize=64)
def _names(count: int) -> tuple[str, ...]:
    return tuple(map(str, range(count)))


def _partition(raw: str, where: str) -> int:
    if not raw.isdecimal() or not raw.isascii() or len(raw) > 7 or (raw[0] == "0" and raw != "0"):
        bad(where, "partition ids", raw)
    return int(raw)


def _ids_by_partition(raw: object, where: str, *, may_be_empty: bool = False) -> dict[int, Replicas]:
    return {
        _partition(partition, where): broker_ids(ids, f"{where}.{partition}")
        for partition, ids in fields(raw, where).items()
        if ids or not may_be_empty
    }


def encode(topic: Topic, assignments: Sequence[Replicas]) -> bytes:
    """The value of the topic key, with R of partition i at `assignments[i]`; a move of Kafka's that is not taken over
    yet stays as Kafka wrote it."""
    moves = topic.kafka_moves
    if moves:
        assignments = [moves[i].replicas if i in moves else replicas for i, replicas in enumerate(assignments)]
    partitions = ",".join([f'"{i}":{dump_ids(replicas)}' for i, replicas in enumerate(assignments)])
    adding = ",".join(f'"{i}":{dump_ids(move.adding)}' for i, move in moves.items() if move.adding)
    removing = ",".join(f'"{i}":{dump_ids(move.removing)}' for i, move in moves.items() if move.removing)
    retired = ""
    if topic.retired_epochs:
        retired = ",".join([f'"{p}":{e}' for p, e in sorted(topic.retired_epochs.items())])
        retired = f',"retired_epochs":{{{retired}}}'
    return (
        f'{{"partitions":{{{partitions}}},"topic_id":{dump_name(topic.topic_id)},"adding_replicas":{{{adding}}},'
        f'"removing_replicas":{{{removing}}},"version":3{retired}{dump_extra(topic.extra)}}}'
    ).encode()


def topic_bytes_max(topic: Topic, assignments: Sequence[Replicas]) -> int:
    """An upper bound on the size of `encode`, without encoding."""
    ids = sum(map(len, assignments))
    extra = len(dump_extra(topic.extra)) if topic.extra else 0
    moves = topic.kafka_moves.values()
    extra += sum(24 + 11 * (len(m.replicas) + len(m.adding) + len(m.removing)) for m in moves)
    return 200 + 12 * len(assignments) + 11 * ids + 24 * len(topic.retired_epochs) + extra
