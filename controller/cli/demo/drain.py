"""Act 2: the plan that empties a broker, and what happens meanwhile.

Each replica goes to the least loaded broker that keeps the racks apart. While they move, one move is cancelled and
undone, one gets another target, and the active controller is killed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Final, Protocol

import attrs

from ...model.values import Partition, Replicas, TopicPartition
from ...rig import Rig
from ...rules.placement import replace_broker
from ..printing import ids
from .screen import Screen
from .takeover import controller_of

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
    """The number of partitions with replicas in as many racks as possible, and the number of all partitions."""
    partitions = list(partitions)
    rack_count = len({rack for rack in racks.values() if rack is not None})
    kept = sum(len({racks.get(b) for b in p.replicas}) >= min(len(p.replicas), rack_count) for p in partitions)
    return kept, len(partitions)


def spread(partitions: Iterable[Partition]) -> tuple[Counter[int], Counter[int]]:
    """Replicas and leaders per broker."""
    partitions = list(partitions)
    replicas = Counter(broker for p in partitions for broker in p.replicas)
    return replicas, Counter(p.leader for p in partitions)


CANCEL_AT, OVERRIDE_AT, KILL_AT = 0.15, 0.3, 0.5  # of all bytes to copy
CANCEL_LATEST: Final = 0.9  # of the bytes of the one move that is to be caught half way


class Drain(Protocol):
    """The act that these happen in."""

    rig: Rig
    racks: Mapping[int, str | None]
    leaving: int
    screen: Screen
    remembered: dict[str, Any]
    widened: list[TopicPartition]

    def partitions(self) -> list[Partition]: ...

    def copied(self, tps: Iterable[TopicPartition]) -> float: ...


@attrs.define(eq=False)
class Mishaps:
    """Each happens once, at its time."""

    act: Drain
    _left: list[str] = attrs.field(factory=lambda: ["cancel", "override", "kill"])

    def look(self, share: float) -> None:
        """Of what is due with this share of the bytes copied, the first happens."""
        for what in self._left:
            if self._is_due(what, share):
                self._left.remove(what)
                self._do(what)
                return

    def rest(self) -> None:
        """What has not happened yet happens."""
        while self._left:
            self._do(self._left.pop(0))

    def _is_due(self, what: str, share: float) -> bool:
        if what == "override":
            return share >= OVERRIDE_AT
        if what == "kill":
            return share >= KILL_AT
        partition = self._to_catch()
        if partition is None or partition.move is None:
            return share >= CANCEL_AT
        return bool(_joined(partition)) or self.act.copied([partition.tp]) >= CANCEL_LATEST

    def _do(self, what: str) -> None:
        {"cancel": self._cancel, "override": self._override, "kill": self._kill}[what]()

    def _to_catch(self) -> Partition | None:
        """The move of two replicas that is cancelled when one of them has joined."""
        return self.act.rig.partition(self.act.widened[1]) if len(self.act.widened) > 1 else None

    def _running(self) -> list[Partition]:
        """Moves that run, and have the most left to copy, first; without those that are to go their own way."""
        left_out = {*self.act.remembered.values(), *self.act.widened}
        found = [p for p in self.act.partitions() if p.move is not None and p.tp not in left_out]
        return sorted(found, key=lambda p: (self.act.copied([p.tp]), p.topic, p.partition))

    def _cancel(self) -> None:
        rig, screen = self.act.rig, self.act.screen
        caught = self._to_catch()
        if caught is not None and not _joined(caught):  # it is close: from here on every tick is looked at
            due = caught.tp
            rig.until(lambda: self._has_joined_or_ended(due), timeout_s=600, what=f"a broker joins {due}")
            caught = self._to_catch()
        found = [caught] if caught is not None and caught.move is not None else self._running()
        if not found:
            return
        tp = found[0].tp
        self.act.remembered["cancelled"] = tp
        answer = rig.result(rig.admin.alter_partition_reassignments({tp: None})[tp])
        screen.event(f"{tp}: cancelled; replicas {ids(answer.replicas)}, origin {ids(answer.origin)}")
        rig.reassign({tp: answer.origin})
        rig.wait.until_replicas({tp: answer.origin})
        joined = [broker for broker in answer.replicas if broker not in answer.origin]
        gone = f"; {ids(joined)}, which had joined, is gone again" if joined else ""
        screen.event(f"{tp}: undone; replicas {ids(rig.partition(tp).replicas)}{gone}")

    def _has_joined_or_ended(self, tp: TopicPartition) -> bool:
        partition = self.act.rig.partition(tp)
        return partition.move is None or bool(_joined(partition))

    def _override(self) -> None:
        loads, _ = spread(self.act.partitions())
        for partition in self._running():
            target = another_target(partition, self.act.leaving, self.act.racks, loads)
            if target is not None and partition.move is not None:
                self.act.remembered["overridden"] = partition.tp
                old = partition.move.target
                self.act.rig.reassign({partition.tp: target})
                self.act.screen.event(f"{partition.tp}: target {ids(old)} replaced by {ids(target)} while it moves")
                return

    def _kill(self) -> None:
        rig, screen = self.act.rig, self.act.screen
        active = rig.active
        if active is None:
            return
        dead = active.node_id
        rig.mishaps.kill_controller(dead)
        screen.event(f"controller {dead} was killed; when its session ends, the stand-by takes over")
        rig.until(lambda: rig.active is not None, what="the stand-by took over")
        successor = rig.active
        assert successor is not None
        self.act.remembered["killed"] = dead
        epoch = controller_of(successor).controller_epoch
        screen.event(f"controller {successor.node_id} took over with controller epoch {epoch} and continues")


def _joined(partition: Partition) -> list[int]:
    """Who is in sync of those that a running move brings."""
    origin = partition.move.origin if partition.move is not None else partition.replicas
    return [b for b in partition.target_replicas or () if b not in origin and b in partition.isr]
