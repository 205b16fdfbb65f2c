"""The state key of a partition: Kafka's fields, with `targetReplicas`, `status_code`, `reassignment` beside them.

`{"controller_epoch":1,"leader":1,"version":1,"leader_epoch":0,"isr":[1]}`; the order is that of Kafka. A value with
exactly these fields takes a fast path through `decode`; otherwise unknown fields are kept and written back.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from ..model.values import LEADER_DURING_DELETE, Move, Partition, Replicas
from .text import (
    EPOCH_MAX,
    INT32_MAX,
    TIME_MS_MAX,
    BadValue,
    bad,
    broker_ids,
    dump,
    dump_extra,
    dump_ids,
    fields,
    number,
    parse_many,
    unknown_fields,
)

IDLE: Final = frozenset({"controller_epoch", "leader", "version", "leader_epoch", "isr"})
_KNOWN: Final = IDLE | {"targetReplicas", "status_code", "leader_recovery_state", "reassignment"}
FIXED_BYTES_MAX: Final = 320  # of a value without its ids and unknown fields
ID_BYTES_MAX: Final = 11  # of a broker's id, with the comma


Idle = tuple[Replicas, int, int]
"""The content of a state key with only Kafka's fields: isr, leader, leader epoch."""


def decode(raw: object, topic: str, partition: int, replicas: Replicas, now_ms: int) -> Partition:
    """The partition that parsed JSON and R from the topic key describe. Raises BadValue.

    A move without its `reassignment` (another program's) began with the present R, now. R may lag behind T and I here:
    `grown` says what it is. An empty `targetReplicas` means the same as null: no move, because no partition can be
    moved to an empty list, and a program that clears the list may leave it empty.
    """
    found = fields(raw, "state")
    isr, leader, leader_epoch = common(found)
    if isr == replicas:
        isr = replicas  # one tuple for both: equal in most partitions at most times
    if found.keys() == IDLE:
        return Partition(topic, partition, replicas, isr, leader, leader_epoch)
    target = found.get("targetReplicas")
    is_idle = target is None or target == []
    move = None if is_idle else _move(broker_ids(target, "targetReplicas"), found, replicas, now_ms)
    return Partition(
        topic,
        partition,
        grown(replicas, isr, move),
        isr,
        leader,
        leader_epoch,
        move,
        number(found.get("status_code", 0), "status_code", -1, 1),
        number(found.get("leader_recovery_state", 0), "leader_recovery_state", 0, 1),
        unknown_fields(found, _KNOWN),
    )


def common(found: dict[str, object]) -> Idle:
    """The fields that every state key has. Raises BadValue."""
    isr = broker_ids(found.get("isr"), "isr")
    leader = number(found.get("leader"), "leader", LEADER_DURING_DELETE, INT32_MAX)
    return isr, leader, number(found.get("leader_epoch"), "leader_epoch", 0, EPOCH_MAX)


def _move(target: Replicas, found: dict[str, object], replicas: Replicas, now_ms: int) -> Move:
    raw = found.get("reassignment")
    if raw is None:
        return Move(target, replicas, now_ms)
    memory = fields(raw, "reassignment")
    deadline = memory.get("deadline_ms")
    return Move(
        target,
        broker_ids(memory.get("origin"), "reassignment.origin"),
        number(memory.get("started_ms"), "reassignment.started_ms", 0, TIME_MS_MAX),
        None if deadline is None else number(deadline, "reassignment.deadline_ms", 0, TIME_MS_MAX),
    )


def grown(replicas: Replicas, isr: Replicas, move: Move | None) -> Replicas:
    """R ++ (T and I): the true R, because a growth (KIP-455) reaches the topic key late."""
    if move is None:
        return replicas
    joined = tuple(b for b in move.target if b in isr and b not in replicas)
    return replicas + joined if joined else replicas


def encode(partition: Partition, controller_epoch: int) -> bytes:
    """The value of the state key. `partition` must have a state (`has_state`)."""
    isr, move = partition.isr, partition.move
    if not isr:
        bad(f"{partition.topic}-{partition.partition}", "a partition with an isr", partition)
    ids = dump_ids(isr)
    rest = ""
    if move is not None:
        deadline = "" if move.deadline_ms is None else f',"deadline_ms":{move.deadline_ms}'
        rest = (
            f',"targetReplicas":{dump_ids(move.target)},"reassignment":{{"origin":'
            f'{ids if move.origin is isr else dump_ids(move.origin)},"started_ms":{move.started_ms}{deadline}}}'
        )
    if partition.status_code:
        rest += f',"status_code":{partition.status_code}'
    if partition.leader_recovery_state:
        rest += f',"leader_recovery_state":{partition.leader_recovery_state}'
    if partition.extra is not None:
        rest += dump_extra(partition.extra)
    return (
        f'{{"controller_epoch":{controller_epoch},"leader":{partition.leader},"version":1,'
        f'"leader_epoch":{partition.leader_epoch},"isr":{ids}{rest}}}'
    ).encode()


def raised(values: Sequence[bytes]) -> Iterator[bytes | BadValue]:
    """Each value with the next leader epoch; all else stays, unknown fields as well. A BadValue where that is
    impossible."""
    for raw in parse_many(values):
        try:
            if isinstance(raw, BadValue):
                raise raw
            found = fields(raw, "state")
            yield dump({**found, "leader_epoch": common(found)[2] + 1}).encode()
        except BadValue as error:
            yield error


def state_bytes_max(partition: Partition) -> int:
    """An upper bound on the size of `encode`, without encoding."""
    ids = len(partition.isr) + (len(partition.move.target) + len(partition.move.origin) if partition.move else 0)
    extra = len(dump_extra(partition.extra)) if partition.extra else 0
    return FIXED_BYTES_MAX + ID_BYTES_MAX * ids + extra
