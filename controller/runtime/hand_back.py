"""Gives a cluster of Kafka brokers back to Kafka's own controller.

0. Nothing is written unless Kedge leads, or led last: raising the controller epoch under Kafka's own controller would
   leave a cluster whose controller can commit nothing and does not know it. Kedge leads where `/kedge/leader` is there,
   and led last where `/controller` stays without a session, since Kafka's controllers hold it by one.
1. One commit deposes the controller of Kedge that leads: it raises the controller epoch, deletes `/kedge/leader` and
   puts `/kedge/handed_back`, at which every controller of Kedge stands by. `/controller` stays, so no broker stands for
   election yet.
2. Each topic with reassignments gets them in Kafka's form (`adding_replicas`, `removing_replicas`), so that Kafka's
   controller goes on with them. Every commit checks the epoch.
3. One commit deletes `/controller`. The first broker that sees this becomes controller.

It may be interrupted anywhere and called again: what is done stays done.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import attrs

from ...stores.base import Check, Corrupt, Delete, Entry, Invalid, MetadataStore, Op, Put, Version, as_read
from ...stores.recipes import EPOCH_KEY, HELD_KEY, LEADER_KEY, decode_epoch
from ..codec import BadValue, handed_back, keys, partition_state, topic
from ..codec.migration import is_holder
from ..codec.small import decode_controller, is_of_kraft
from ..codec.text import parse
from ..keys.base import read_children
from ..model.values import KafkaMove, Move, Partition, Replicas

_KEYS: Final = (keys.REPLICAS_REMOVAL, keys.RATES_REMOVAL)


@attrs.frozen
class HandedBack:
    """What was given back. `moves`: the number of reassignments that Kafka's controller continues; None if the cluster
    had been handed back before. `throttles`: keys that name throttles which no program removes any more."""

    moves: int | None
    throttles: tuple[str, ...]


def hand_back(store: MetadataStore, timeout_s: float) -> HandedBack:
    """Afterwards no controller of Kedge leads, and Kafka brokers elect one of themselves.

    `timeout_s` is for each call to the store. Raises Invalid, which says who leads, and writes nothing, where neither
    Kedge leads nor has led last, or the tree holds no cluster. Raises Corrupt where a key cannot be read, Conflict
    where another controller leads meanwhile, and whatever else the store raises; calling again is right.
    """
    at = _begin(store, timeout_s)
    if at is None:
        return HandedBack(None, _throttles(store, timeout_s))
    moves = sum(_give_moves(store, at, name, entry, timeout_s) for name, entry in _topics(store, timeout_s))
    _end(store, at, timeout_s)
    return HandedBack(moves, _throttles(store, timeout_s))


def _throttles(store: MetadataStore, timeout_s: float) -> tuple[str, ...]:
    return tuple(key for key in _KEYS if store.get(key, timeout_s=timeout_s) is not None)


def _begin(store: MetadataStore, timeout_s: float) -> Version | None:
    """Where the controller epoch stands, which everything that follows checks. None: it was handed back already."""
    # The epoch first: a Kafka broker that is elected after it was read raises it, so the commit below fails.
    epoch, held, shown, marker = (
        store.get(key, sync=True, timeout_s=timeout_s) for key in (EPOCH_KEY, HELD_KEY, LEADER_KEY, keys.HANDED_BACK)
    )
    phase, is_kafkas = _phase(marker), held is None and (shown is None or shown.owner is not None)
    if phase == handed_back.DONE and is_kafkas:
        return None
    if reason := _refusal(epoch, held, shown, has_begun=phase == handed_back.BEGUN):
        raise Invalid(f"{reason}; nothing was written", key=LEADER_KEY)
    if phase == handed_back.BEGUN and held is None and epoch is not None:
        return epoch.version
    number = 1 if epoch is None else decode_epoch(epoch.value) + 1
    ops: list[Op] = [
        Put(EPOCH_KEY, b"%d" % number, as_read(epoch)),
        Put(keys.HANDED_BACK, handed_back.encode(handed_back.BEGUN), as_read(marker)),
    ]
    if held is not None:
        ops.append(Delete(HELD_KEY, held.version))
    version = store.commit(ops, timeout_s=timeout_s).versions[0]
    assert version is not None, "a Put always has one"
    return version


def _phase(marker: Entry | None) -> handed_back.Phase | None:
    try:
        return None if marker is None else handed_back.decode(marker.value)
    except BadValue as error:
        raise Corrupt(f"{keys.HANDED_BACK}: {error}", key=keys.HANDED_BACK) from error


def _refusal(epoch: Entry | None, held: Entry | None, shown: Entry | None, *, has_begun: bool) -> str | None:
    """Why there is nothing to hand back, as a sentence that says who leads. `has_begun`: an earlier call deposed the
    controller of Kedge."""
    if shown is not None and is_of_kraft(shown.value):
        return f"{LEADER_KEY}: KRaft's controller holds it, so there is nothing to hand back"
    if shown is not None and shown.owner is not None:
        leads = f"controller {decode_controller(shown.value)} leads"
        return (
            f"{leads}: it holds {LEADER_KEY} by its session, as a Kafka broker does, so there is nothing to hand back"
        )
    if shown is not None and is_holder(shown.value):
        return f"{LEADER_KEY}: a move to another store holds it, so there is nothing to hand back"
    if shown is not None or held is not None or has_begun:
        return None
    if epoch is None:
        return f"no cluster is here, since there is neither {LEADER_KEY} nor {EPOCH_KEY}: check the chroot"
    return f"no controller leads, and the first broker that starts takes {LEADER_KEY}: there is nothing to hand back"


def _topics(store: MetadataStore, timeout_s: float) -> Sequence[tuple[str, Entry]]:
    return list(read_children(store, keys.TOPICS, timeout_s))


def _give_moves(store: MetadataStore, at: Version, name: str, entry: Entry, timeout_s: float) -> int:
    """How many reassignments of a topic are written into its key."""
    try:
        found = topic.decode(entry.value, name)
        moves = _moves(store, name, found.assignments, timeout_s)
    except BadValue as error:
        raise Corrupt(f"{entry.key}: {error}", key=entry.key) from error
    if not moves:
        return 0
    given = attrs.evolve(found.topic, kafka_moves={**found.topic.kafka_moves, **moves})
    value = topic.encode(given, found.assignments)
    store.commit([Check(EPOCH_KEY, at), Put(entry.key, value, entry.version)], timeout_s=timeout_s)
    return len(moves)


def _moves(store: MetadataStore, name: str, assignments: Sequence[Replicas], timeout_s: float) -> dict[int, KafkaMove]:
    paths = [keys.state(name, partition) for partition in range(len(assignments))]
    moves = {}
    for number, entry in enumerate(store.get_many(paths, timeout_s=timeout_s)):
        if entry is None:
            continue
        found: Partition = partition_state.decode(parse(entry.value), name, number, assignments[number], 0)
        if found.move is not None:
            moves[number] = _as_kafka(found.move)
    return moves


def _as_kafka(move: Move) -> KafkaMove:
    """Kafka lists the target first, then what only the replicas of before have."""
    target, origin = move.target, move.origin
    return KafkaMove(
        replicas=(*target, *(b for b in origin if b not in target)),
        adding=tuple(b for b in target if b not in origin),
        removing=tuple(b for b in origin if b not in target),
    )


def _end(store: MetadataStore, at: Version, timeout_s: float) -> None:
    shown, marker = (store.get(key, sync=True, timeout_s=timeout_s) for key in (LEADER_KEY, keys.HANDED_BACK))
    if shown is not None and shown.owner is not None:
        return  # a broker leads already
    ops: list[Op] = [
        Check(EPOCH_KEY, at),
        Put(keys.HANDED_BACK, handed_back.encode(handed_back.DONE), as_read(marker)),
    ]
    if shown is not None:
        ops.append(Delete(LEADER_KEY, shown.version))
    store.commit(ops, timeout_s=timeout_s)
