"""Placement of replicas: rack-aware (KIP-36), without racks, and the replacement of a leaving broker.

With racks, brokers are in a list that alternates racks. The leader of partition i is the next one in the list;
followers come after it at a distance that shifts at each pass through the list, and a rack (a broker) is used again
only when all are. So with k * brokers partitions every broker leads k; with RF <= racks no rack holds two replicas;
with RF >= racks every rack holds one. If any broker has no rack, the list is sorted by id, and racks are ignored.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import zip_longest

from ..model.values import Replicas


def alternate_racks(racks: Mapping[int, str | None]) -> Replicas:
    """The brokers, one per rack in turn; racks sorted by name, brokers within a rack by id (KIP-36)."""
    by_rack: dict[str | None, list[int]] = {}
    for broker in sorted(racks):
        by_rack.setdefault(racks[broker], []).append(broker)
    rounds = zip_longest(*(by_rack[rack] for rack in sorted(by_rack, key=str)))
    return tuple(broker for turn in rounds for broker in turn if broker is not None)


def assign_replicas(
    racks: Mapping[int, str | None],
    partitions: int,
    replication_factor: int,
    *,
    start: int,
    shift: int,
    first_partition: int = 0,
) -> tuple[Replicas, ...]:
    """R for `partitions` new partitions over the brokers of `racks` (id -> rack).

    `start`: index in the list where the rotation begins; `shift`: distance of the first follower; both random for a
    new topic, fixed to continue one. `first_partition`: id of the first partition placed.
    ValueError unless 1 <= replication_factor <= brokers.
    """
    if not 1 <= replication_factor <= len(racks):
        raise ValueError(f"replication factor {replication_factor} with {len(racks)} brokers")
    aware = bool(racks) and None not in racks.values()
    brokers = alternate_racks(racks) if aware else tuple(sorted(racks))
    placed = []
    for counter in range(max(0, first_partition), max(0, first_partition) + partitions):
        if counter > 0 and counter % len(brokers) == 0:
            shift += 1
        leader = (counter + start) % len(brokers)
        if aware:
            placed.append(_spread(brokers, racks, leader, shift, replication_factor))
        else:
            placed.append(_rotate(brokers, leader, shift, replication_factor))
    return tuple(placed)


def _offset(shift: int, k: int, brokers: int) -> int:
    return 1 + (shift + k) % (brokers - 1)


def _rotate(brokers: Replicas, leader: int, shift: int, replication_factor: int) -> Replicas:
    n = len(brokers)
    followers = (brokers[(leader + _offset(shift, j, n)) % n] for j in range(replication_factor - 1))
    return (brokers[leader], *followers)


def _spread(
    brokers: Replicas, racks: Mapping[int, str | None], leader: int, shift: int, replication_factor: int
) -> Replicas:
    n, rack_count = len(brokers), len(set(racks.values()))
    chosen = [brokers[leader]]
    used = {racks[brokers[leader]]}
    k = 0
    while len(chosen) < replication_factor:
        broker = brokers[(leader + _offset(shift * rack_count, k, n)) % n]
        k += 1
        if broker not in chosen and (racks[broker] not in used or len(used) == rack_count):
            chosen.append(broker)
            used.add(racks[broker])
    return tuple(chosen)


def continue_rotation(racks: Mapping[int, str | None], first_replica: int) -> int:
    """The fixed start for partitions added to a topic: the index, in the list of the placement, of the first broker
    with an id >= `first_replica` (of partition 0), 0 if there is none."""
    aware = bool(racks) and None not in racks.values()
    brokers = alternate_racks(racks) if aware else tuple(sorted(racks))
    above = [broker for broker in sorted(racks) if broker >= first_replica]
    return brokers.index(above[0]) if above else 0


def replace_broker(
    replicas: Replicas, leaving: int, racks: Mapping[int, str | None], loads: Mapping[int, int]
) -> Replicas:
    """`replicas` with another broker instead of `leaving`: the one of `racks` with which the replicas are in the most
    racks; among these the least loaded (`loads`: broker -> replicas), then the lowest id. ValueError if every broker
    holds a replica already. The caller updates `loads`.
    """
    stay = {broker for broker in replicas if broker != leaving}
    candidates = [broker for broker in racks if broker not in stay and broker != leaving]
    if not candidates:
        raise ValueError(f"no broker is left to replace {leaving} in {list(replicas)}")
    stay_racks = {racks.get(broker) for broker in stay}
    best = min(candidates, key=lambda b: (_in_used_rack(racks[b], stay_racks), loads.get(b, 0), b))
    return tuple(best if broker == leaving else broker for broker in replicas)


def _in_used_rack(rack: str | None, used: Iterable[str | None]) -> bool:
    return rack is not None and rack in used
