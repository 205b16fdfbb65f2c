"""The plan that empties a broker: each replica goes to the least loaded broker that keeps the racks apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from controller.model.values import Partition, Replicas, TopicPartition
from controller.rules.placement import replace_broker

Racks = Mapping[int, str | None]


def plan_drain(partitions: Iterable[Partition], leaving: int, racks: Racks) -> dict[TopicPartition, Replicas]:
    """Target replicas of every partition that `leaving` holds a replica of."""
    partitions = sorted(partitions, key=lambda p: (p.topic, p.partition))
    loads = Counter(broker for p in partitions for broker in p.members)
    plan: dict[TopicPartition, Replicas] = {}
    for partition in partitions:
        if leaving in partition.replicas:
            target = replace_broker(partition.replicas, leaving, racks, loads)
            loads.update(b for b in target if b not in partition.replicas)
            loads[leaving] -= 1
            plan[partition.tp] = target
    return plan


def widen(
    plan: dict[TopicPartition, Replicas], partitions: Iterable[Partition], leaving: int, racks: Racks, count: int
) -> list[TopicPartition]:
    """Let the first `count` moves of `plan` for which the racks can be kept replace one more replica; which they are.

    Their replicas then join one after another.
    """
    by_tp = {p.tp: p for p in partitions}
    loads = Counter(broker for p in by_tp.values() for broker in plan.get(p.tp, p.members))
    left = {broker: rack for broker, rack in racks.items() if broker != leaving}
    widened: list[TopicPartition] = []
    for tp, target in list(plan.items()):
        if len(widened) == count:
            break
        wider = _wider(target, by_tp[tp].replicas, left, loads)
        if wider is not None:
            loads.update(b for b in wider if b not in target)
            loads.subtract(b for b in target if b not in wider)
            plan[tp] = wider
            widened.append(tp)
    return widened


def _wider(target: Replicas, now: Replicas, racks: Racks, loads: Mapping[int, int]) -> Replicas | None:
    """`target` with another broker in the place of one more replica of `now`, in as many racks; None if none is."""
    for broker in target[::-1]:
        if broker in now:
            try:
                wider = replace_broker(target, broker, racks, loads)
            except ValueError:
                continue
            if len({racks[b] for b in wider}) >= len({racks[b] for b in target}):
                return wider
    return None


def another_target(partition: Partition, leaving: int, racks: Racks, loads: Mapping[int, int]) -> Replicas | None:
    """A target that empties `leaving` by another broker than the running move does; None where there is none."""
    if partition.move is None:
        return None
    taken = set(partition.move.target) - set(partition.move.origin)
    others = {broker: rack for broker, rack in racks.items() if broker not in taken}
    try:
        return replace_broker(partition.move.origin, leaving, others, loads)
    except ValueError:
        return None


def racks_kept(partitions: Iterable[Partition], racks: Racks) -> tuple[int, int]:
    """How many partitions stand in as many racks as they can, and how many there are."""
    partitions = list(partitions)
    rack_count = len({rack for rack in racks.values() if rack is not None})
    kept = sum(len({racks.get(b) for b in p.replicas}) >= min(len(p.replicas), rack_count) for p in partitions)
    return kept, len(partitions)


def spread(partitions: Iterable[Partition]) -> tuple[Counter[int], Counter[int]]:
    """Replicas and leaders per broker."""
    partitions = list(partitions)
    replicas = Counter(broker for p in partitions for broker in p.replicas)
    return replicas, Counter(p.leader for p in partitions)
