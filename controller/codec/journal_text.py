"""Parts of a line as text: lists of brokers, topics, causes, a partition, the running moves.

Format strings are used instead of `json.dumps`, which takes several times as long; a complete move has about 12 lines.
Texts of other programs (names, causes, details) go through `dump`, most of them once, thanks to a cache. All is ASCII.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from functools import lru_cache

from ..model.values import DeleteIntent, Partition, Replicas


def dump(value: object) -> str:
    """`value` as compact JSON."""
    return json.dumps(value, separators=(",", ":"))


@lru_cache(maxsize=4096)
def ids(replicas: Replicas) -> str:
    return f"[{','.join(map(str, replicas))}]"


def lists(assignments: Iterable[Replicas]) -> str:
    return f"[{','.join(map(ids, assignments))}]"


@lru_cache(maxsize=4096)
def topic(name: str, topic_id: str | None) -> str:
    """The members that name a topic; without an id (None, "") only its name."""
    return f'"topic":{dump(name)},"topic_id":{dump(topic_id)}' if topic_id else f'"topic":{dump(name)}'


@lru_cache(maxsize=1024)
def why(cause: str | None, request: str | None) -> str:
    """The members that give the reason, each with a comma before it."""
    said = "" if cause is None else f',"cause":{dump(cause)}'
    return said if request is None else f'{said},"request":{dump(request)}'


def values(p: Partition, topic_id: str | None, epoch: int, origin: Replicas | None) -> str:
    """A partition, from its topic to `origin`, R before the first request of its move. `epoch`: its partition epoch, -1
    if it has none."""
    move = p.move
    target = "" if move is None else f'"target":{ids(move.target)},'
    came_from = "" if origin is None else f',"origin":{ids(origin)}'
    if epoch < 0 or (p.leader_epoch < 0 and not p.isr):
        return _without_state_key(p, topic_id, target, came_from)
    return (
        f'{topic(p.topic, topic_id)},"partition":{p.partition},"replicas":{ids(p.replicas)},"isr":{ids(p.isr)},{target}'
        f'"leader":{p.leader},"leader_epoch":{p.leader_epoch},"partition_epoch":{epoch},"status":{p.status_code}{came_from}'
    )


def _without_state_key(p: Partition, topic_id: str | None, target: str, came_from: str) -> str:
    """Without a partition epoch; before the first election, without isr and leader too."""
    led = f'"leader":{p.leader},"leader_epoch":{p.leader_epoch},'
    isr, led = ("", "") if p.leader_epoch < 0 and not p.isr else (f'"isr":{ids(p.isr)},', led)
    return (
        f'{topic(p.topic, topic_id)},"partition":{p.partition},"replicas":{ids(p.replicas)},{isr}{target}{led}'
        f'"status":{p.status_code}{came_from}'
    )


def moves(
    moving: Iterable[Partition], topic_id: Callable[[str], str | None], partition_epoch: Callable[[Partition], int]
) -> str:
    """A list of running moves: each partition, when its move started, and its deadline."""
    texts = []
    for p in moving:
        assert p.move is not None
        until = "" if p.move.deadline_ms is None else f',"deadline_ms":{p.move.deadline_ms}'
        now = values(p, topic_id(p.topic), partition_epoch(p), p.move.origin)
        texts.append(f'{{{now},"started_ms":{p.move.started_ms}{until}}}')
    return f"[{','.join(texts)}]"


def replica(intent: DeleteIntent) -> str:
    named = topic(intent.topic, intent.topic_id)
    return f'{named},"partition":{intent.partition},"leader_epoch":{intent.leader_epoch},"broker":{intent.broker}'
