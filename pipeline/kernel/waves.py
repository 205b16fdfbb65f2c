"""Cuts a plan into waves of copies that may run at the same time.

* A copy goes from the partition's leader to each new replica. In a wave no broker sends or receives more than `k`.
* Larger partitions first, each into the wave in which the fullest of its brokers gets the fewest bytes: this levels the
  bytes over sources and destinations. A further wave is opened only if the partition fits in none.
* Then the waves are put in order: no broker exceeds its ceiling while a wave runs, with all its arrivals and before any
  departure. What does not fit yet waits for a later wave, which has the room that earlier ones freed.
* A broker's rate must exceed the rate of writing to the partitions that it copies, or the copies would never end (t = B
  / (r - w)).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import attrs
import numpy as np

from .cluster import NO_LIMIT, Bools, Floats, Ints

NO_SOURCE: Final = "the partition has no live leader to copy from"
NO_RATE: Final = "the copy rate does not exceed the rate of writing: the copy would never end"
NO_DISK: Final = "no wave leaves enough disk for the copy"
TOO_EARLY: Final = "an earlier step of the partition was refused"


@attrs.frozen
class Step:
    """A change of one row. Brokers by index; `source` -1: none."""

    partition: int
    before: tuple[int, ...]
    after: tuple[int, ...]
    source: int
    size: int
    write_bps: float
    number: int = 0
    """0 for the first step of its partition, and so on."""

    comes: tuple[int, ...] = attrs.field(init=False)
    goes: tuple[int, ...] = attrs.field(init=False)

    @comes.default
    def _comes(self) -> tuple[int, ...]:
        return tuple(b for b in self.after if b not in self.before)

    @goes.default
    def _goes(self) -> tuple[int, ...]:
        return tuple(b for b in self.before if b not in self.after)


@attrs.frozen(eq=False)
class Room:
    """The limits of brokers: bytes now and at most, rates for copies sent and received (inf: no limit)."""

    held: Ints
    disk_max: Ints
    send_bps: Floats
    receive_bps: Floats


@attrs.define
class _Wave:
    """The load of a wave so far, by broker."""

    sends: dict[int, int] = attrs.field(factory=dict)
    receives: dict[int, int] = attrs.field(factory=dict)
    sent_bps: dict[int, float] = attrs.field(factory=dict)
    received_bps: dict[int, float] = attrs.field(factory=dict)
    incoming: dict[int, int] = attrs.field(factory=dict)
    steps: list[Step] = attrs.field(factory=list)

    def add(self, step: Step) -> None:
        comes = step.comes
        self.steps.append(step)
        if comes:
            self.sends[step.source] = self.sends.get(step.source, 0) + len(comes)
            self.sent_bps[step.source] = self.sent_bps.get(step.source, 0.0) + len(comes) * step.write_bps
        for broker in comes:
            self.receives[broker] = self.receives.get(broker, 0) + 1
            self.received_bps[broker] = self.received_bps.get(broker, 0.0) + step.write_bps
            self.incoming[broker] = self.incoming.get(broker, 0) + step.size

    def may_add(self, step: Step, room: Room, k: int, held: list[int]) -> bool:
        comes = step.comes
        if not comes:
            return True
        source = step.source
        if self.sends.get(source, 0) + len(comes) > k:
            return False
        if self.sent_bps.get(source, 0.0) + len(comes) * step.write_bps >= room.send_bps[source]:
            return False
        for broker in comes:
            if self.receives.get(broker, 0) >= k:
                return False
            if self.received_bps.get(broker, 0.0) + step.write_bps >= room.receive_bps[broker]:
                return False
            if held[broker] + self.incoming.get(broker, 0) + step.size > room.disk_max[broker]:
                return False
        return True


def steps_of(step: Step, *, one_at_a_time: bool, k: int) -> list[Step]:
    """The step, or several with one new replica each, if requested or if it has more than `k`."""
    comes = step.comes
    if len(comes) < 2 or not (one_at_a_time or len(comes) > k):
        return [step]
    found, row, goes = [], step.before, list(step.goes)
    for number, broker in enumerate(comes[:-1]):
        out = goes.pop(0) if goes else None
        after = (*row, broker) if out is None else tuple(broker if b == out else b for b in row)
        found.append(attrs.evolve(step, before=row, after=after, number=number))
        row = after
    return [*found, attrs.evolve(step, before=row, number=len(comes) - 1)]


def waves(steps: Sequence[Step], room: Room, alive: Bools, *, k: int) -> tuple[list[list[Step]], list[tuple[int, str]]]:
    """The steps by wave, and partitions with a step that is in none, with the reason. `steps`: larger ones first, those
    of a partition in their order."""
    refused: dict[int, str] = {}
    planned: list[list[Step]] = [[]]
    wanted = []
    for step in steps:
        reason = TOO_EARLY if step.partition in refused else _never(step, room, alive)
        if reason:
            refused.setdefault(step.partition, reason)
        elif step.comes:
            wanted.append(step)
        else:
            planned[0].append(step)  # nothing is copied
    for step, wave in zip(wanted, _coloured(wanted, room, k), strict=True):
        while len(planned) <= wave:
            planned.append([])
        planned[wave].append(step)
    found, left = _in_order(planned, room, k)
    for step in left:
        refused.setdefault(step.partition, NO_DISK)
    return found, sorted(refused.items())


def _never(step: Step, room: Room, alive: Bools) -> str:
    """Why no wave can hold the step; empty if one can."""
    comes = step.comes
    if not comes:
        return ""
    if step.source < 0 or not alive[step.source]:
        return NO_SOURCE
    least = min(room.send_bps[step.source] / len(comes), *(room.receive_bps[b] for b in comes))
    return NO_RATE if least <= step.write_bps else ""


def _coloured(steps: Sequence[Step], room: Room, k: int) -> list[int]:
    """A wave for each step, by counts and rates; disks are checked afterwards."""
    brokers = len(room.held)
    count = np.zeros((2, brokers), np.int64)
    for step in steps:
        count[0, step.source] += len(step.comes)
        count[1, list(step.comes)] += 1
    width = max(1, -(-int(count.max(initial=0)) // k))
    table = _Table(brokers, width)
    last: dict[int, int] = {}
    chosen = []
    for step in steps:
        comes = list(step.comes)
        wave = table.best(step, comes, room, k, last.get(step.partition, -1) + 1)
        table.put(step, comes, wave)
        last[step.partition] = wave
        chosen.append(wave)
    return chosen


class _Table:
    """Counts, bytes and rates by broker and wave; rows 0..B-1 for sending, B..2B-1 for receiving."""

    def __init__(self, brokers: int, width: int) -> None:
        self._brokers = brokers
        self.count = np.zeros((2 * brokers, width), np.int64)
        self.bytes = np.zeros((2 * brokers, width), np.int64)
        self.written = np.zeros((2 * brokers, width))

    def _rows(self, step: Step, comes: list[int]) -> list[int]:
        return [step.source, *(self._brokers + broker for broker in comes)]

    def best(self, step: Step, comes: list[int], room: Room, k: int, first: int) -> int:
        """The wave, from `first` on, that can hold the step and has the fewest bytes at the fullest of its brokers; a
        new one if there is none."""
        rows, copies = self._rows(step, comes), len(comes)
        count, cost = self.count[rows], self.bytes[rows]
        if copies > 1:
            count[0] += copies - 1  # the source sends them all
            cost[0] += (copies - 1) * step.size
        may = count.max(axis=0) < k
        if step.write_bps > 0:
            limits = np.array([room.send_bps[step.source], *(room.receive_bps[broker] for broker in comes)])
            written = self.written[rows] + step.write_bps
            written[0] += (copies - 1) * step.write_bps
            may &= (written < limits[:, None]).all(axis=0)
        may[:first] = False
        cost = np.where(may, cost.max(axis=0), NO_LIMIT)
        found = int(cost.argmin())
        if may[found]:
            return found
        width = self.count.shape[1]
        self._widen(max(1, first + 1 - width))
        return max(first, width)

    def _widen(self, more: int) -> None:
        self.count = np.pad(self.count, ((0, 0), (0, more)))
        self.bytes = np.pad(self.bytes, ((0, 0), (0, more)))
        self.written = np.pad(self.written, ((0, 0), (0, more)))

    def put(self, step: Step, comes: list[int], wave: int) -> None:
        for row, copies in zip(self._rows(step, comes), [len(comes), *([1] * len(comes))], strict=True):
            self.count[row, wave] += copies
            self.bytes[row, wave] += copies * step.size
            self.written[row, wave] += copies * step.write_bps


def _in_order(planned: list[list[Step]], room: Room, k: int) -> tuple[list[list[Step]], list[Step]]:
    """The waves in an order in which they can run, and the steps for which no wave leaves enough disk."""
    held: list[int] = room.held.tolist()
    found: list[list[Step]] = []
    waiting: list[Step] = []
    done: dict[int, int] = {}  # steps of each partition in earlier waves
    ahead = list(planned)
    while ahead or waiting:
        wave, later = _Wave(), []
        for step in [*(ahead.pop(0) if ahead else ()), *waiting]:
            if step.number == done.get(step.partition, 0) and wave.may_add(step, room, k, held):
                wave.add(step)
            else:
                later.append(step)
        if not wave.steps and not ahead:
            return found, later
        waiting = later
        for step in wave.steps:
            done[step.partition] = step.number + 1
            for broker in step.comes:
                held[broker] += step.size
            for broker in step.goes:
                held[broker] -= step.size
        if wave.steps:
            found.append(wave.steps)
    return found, waiting
