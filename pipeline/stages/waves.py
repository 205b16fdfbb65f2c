"""A plan -> its waves, with rates that the brokers can sustain, the time of each wave, and what fits into no wave.

* Rates: `throttle_bps` for every broker, or from head-room: the usable share of a broker's network, minus its present
  load. A broker without a known capacity is not throttled. With `disk_rate_bps` no broker receives more than its disk
  can write besides the present load; one with several directories counts as one disk, as all copies may go to one.
* Time: with rate r, bytes B and writes w per broker and direction, t = B / (r - w). `eta_s` is that of the slowest
  broker. `eta_low_s`: without writes meanwhile. `eta_high_s`: the slowest sender's and the slowest receiver's time
  together, since every running copy waits for one of its two brokers.
* A wave ends before the next one begins, so its limits hold at every moment.
* If the size of a copy is unknown, there are no times; an unknown write rate counts as 0, and `unrated` is the number
  of such partitions.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs
import numpy as np

from ..arguments import checked
from ..errors import BadInput
from ..kernel.cluster import NOBODY, Cluster, Floats, per_broker
from ..kernel.waves import Room, Step, steps_of
from ..kernel.waves import waves as coloured
from ..tables.arrow import Arrow, from_rows
from ..tables.declared import WAVE, WAVE_MOVE, WAVE_REASON, WAVE_THROTTLE
from .added import with_planned
from .arrays import Limits, amounts, indexed, known, numbers, sorted_topics, to_cluster, topic_codes
from .requests import KINDS, RUNS_DISKS, BalanceDisks
from .snapshots import check_digest, digest

_Row = tuple[Any, ...]


@attrs.frozen(field_transformer=checked)
class WaveSettings:
    """`per_broker`: copies that a broker may send, and receive, at once. `one_at_a_time`: one new replica of a
    partition at a time. `disk_ceiling`: the share of a disk that may be filled while a wave runs. `throttle_bps`: for
    every broker, None = from head-room. `disk_rate_bps`: what the disk of a broker can write, None = no limit."""

    per_broker: int = 20
    one_at_a_time: bool = False
    disk_ceiling: float = 0.95
    network_share: float = 0.8
    throttle_bps: float | None = None
    disk_rate_bps: float | None = None

    def __attrs_post_init__(self) -> None:
        Limits(self.disk_ceiling, self.network_share)
        if self.per_broker < 1:
            raise BadInput(f"moves per broker: expected 1 or more, got {self.per_broker}")
        for name, rate in (("throttle", self.throttle_bps), ("disk rate", self.disk_rate_bps)):
            if rate is not None and not 1 <= rate < float("inf"):
                raise BadInput(f"{name}: expected 1 byte/s or more, got {rate}")


def waves(
    tables: Mapping[str, Arrow], name: str, settings: WaveSettings, *, ignore_racks: bool = True
) -> dict[str, Arrow]:
    """Tables `wave`, `wave_move`, `wave_throttle` of the plan in `tables`, and `wave_reason` for moves that are in no
    wave. Raises BadInput if the plan was made from another snapshot, or moves replicas within brokers only."""
    _check_kind(tables["plan"])
    limits = Limits(settings.disk_ceiling, settings.network_share)
    load = tables["replica_load"]
    broker = with_planned(tables)
    cluster = to_cluster(broker, tables["partition"], load, limits=limits, ignore_racks=ignore_racks)
    check_digest(tables["plan"], digest(cluster, tables["broker"]))
    room = _room(cluster, tables.get("broker_load"), settings)
    steps = _steps(cluster, tables, settings)
    found, refused = coloured(steps, room, cluster.alive, k=settings.per_broker)
    timed = [_Timed(cluster, room, wave, settings.disk_rate_bps is not None) for wave in found]
    peaks = _peaks(cluster, found, broker)
    numbered = list(enumerate(zip(timed, peaks, strict=True), 1))
    rates = [(name, i, *row) for i, (wave, _) in numbered for row in wave.rates()]
    why = [(name, cluster.topics[cluster.topic[p]], int(cluster.number[p]), None, reason) for p, reason in refused]
    return {
        "wave": from_rows(WAVE, [(name, i, *wave.row(), peak, *wave.eta()) for i, (wave, peak) in numbered]),
        "wave_move": from_rows(WAVE_MOVE, _moves(cluster, name, found)),
        "wave_throttle": from_rows(WAVE_THROTTLE, rates),
        "wave_reason": from_rows(WAVE_REASON, why),
    }


def _check_kind(plan: Arrow) -> None:
    if plan["kind"].to_pylist() == [KINDS[BalanceDisks]]:
        raise BadInput(f"plan {plan['plan'][0]} moves replicas within brokers only, and has no waves: {RUNS_DISKS}")


def _room(cluster: Cluster, load: Arrow | None, settings: WaveSettings) -> Room:
    brokers = len(cluster.brokers)
    held = per_broker(cluster.replicas, cluster.size, brokers)
    used: dict[str, Floats] = {"in_bps": np.zeros(brokers), "out_bps": np.zeros(brokers)}
    if load is not None:
        at = indexed(numbers(load.column("broker_id")), cluster.brokers)
        for column, values in used.items():
            values[at[at != NOBODY]] = amounts(load.column(column))[at != NOBODY]
    if settings.throttle_bps is None:
        send, receive = cluster.out_max - used["out_bps"], cluster.in_max - used["in_bps"]
    else:
        send = receive = np.full(brokers, float(settings.throttle_bps))
    if settings.disk_rate_bps is not None:
        receive = np.minimum(receive, settings.disk_rate_bps - used["in_bps"])
    return Room(held, cluster.disk_max, np.floor(np.maximum(send, 0)), np.floor(np.maximum(receive, 0)))


def _steps(cluster: Cluster, tables: Mapping[str, Arrow], settings: WaveSettings) -> list[Step]:
    """The moves as steps, larger ones first; those of one partition in their order."""
    moves = tables["plan_move"]
    topics = sorted_topics(tables["partition"])
    codes, number = topic_codes(moves.column("topic"), topics), numbers(moves.column("partition"))
    at = {key: p for p, key in enumerate(zip(cluster.topic.tolist(), cluster.number.tolist(), strict=True))}
    ids = {broker: place for place, broker in enumerate(cluster.brokers.tolist())}
    found = []
    columns = (moves.column("replicas").to_pylist(), moves.column("target_replicas").to_pylist())
    for key, before, after in zip(zip(codes.tolist(), number.tolist(), strict=True), *columns, strict=True):
        partition = at.get(key)
        if partition is None:
            raise BadInput(f"the plan moves partition {key}, which is not in the snapshot")
        step = Step(
            partition,
            tuple(ids[b] for b in before),
            tuple(ids[b] for b in after),
            int(cluster.leader[partition]),
            int(cluster.size[partition]),
            float(cluster.write_bps[partition]),
        )
        found.append(step)
    found.sort(key=lambda step: (-step.size, step.partition))
    several, k = settings.one_at_a_time, settings.per_broker
    return [part for step in found for part in steps_of(step, one_at_a_time=several, k=k)]


@attrs.define
class _Timed:
    """The copies of a wave by broker, their rates and times. `by_disks`: disks limit the receivers, so a time is known
    even if no network limits a sender."""

    cluster: Cluster
    room: Room
    steps: list[Step]
    by_disks: bool
    counts: dict[int, list[int]] = attrs.field(factory=dict)  # sends, receives, bytes sent, bytes received
    written: dict[int, list[float]] = attrs.field(factory=dict)  # to what is sent, to what is received

    def __attrs_post_init__(self) -> None:
        for step in self.steps:
            for broker in step.comes:
                for side, end in ((0, step.source), (1, broker)):
                    counts = self.counts.setdefault(end, [0, 0, 0, 0])
                    counts[side] += 1
                    counts[2 + side] += step.size
                    self.written.setdefault(end, [0.0, 0.0])[side] += step.write_bps

    def row(self) -> tuple[int | None, ...]:
        """Partitions, copies, bytes, and the numbers of copied partitions with unknown size and unknown write rate."""
        copying = [step for step in self.steps if step.comes]
        copies = sum(len(step.comes) for step in copying)
        unsized = self._unsized
        size = None if copying and unsized == len(copying) else sum(step.size * len(step.comes) for step in copying)
        unrated = sum(not self.cluster.rated[step.partition] for step in copying)
        return len(self.steps), copies, size, unsized, unrated

    @property
    def _unsized(self) -> int:
        return sum(not self.cluster.sized[step.partition] for step in self.steps if step.comes)

    def _rate(self, broker: int, side: int) -> float:
        return float((self.room.send_bps, self.room.receive_bps)[side][broker])

    def eta(self) -> tuple[float | None, float | None, float | None]:
        """Seconds: expected, at least, at most. None if a copying broker has no rate, or a size is unknown."""
        if self._unsized:
            return None, None, None
        times: list[list[float]] = [[0.0], [0.0]]
        low = 0.0
        for broker, counts in self.counts.items():
            for side in (0, 1):
                rate = self._rate(broker, side)
                if not counts[side]:
                    continue
                if rate == float("inf") and side == 0 and self.by_disks:
                    continue
                if rate == float("inf"):
                    return None, None, None
                times[side].append(counts[2 + side] / (rate - self.written[broker][side]))
                low = max(low, counts[2 + side] / rate)
        slowest = max(times[0]), max(times[1])
        return max(slowest), low, sum(slowest)

    def rates(self) -> list[_Row]:
        """The rows of the table wave_throttle, without plan and wave."""
        return [
            (int(self.cluster.brokers[broker]), *counts, *(self._whole(broker, side, counts) for side in (0, 1)))
            for broker, counts in sorted(self.counts.items())
        ]

    def _whole(self, broker: int, side: int, counts: list[int]) -> int | None:
        rate = self._rate(broker, side)
        return None if rate == float("inf") or not counts[side] else max(1, int(rate))


def _peaks(cluster: Cluster, found: list[list[Step]], broker: Arrow) -> list[float | None]:
    """For each wave the largest filled share of a disk while it runs."""
    order = np.argsort(numbers(broker.column("broker_id")), kind="stable")
    capacity = amounts(broker.column("disk_capacity_bytes"))[order]
    there = known(broker.column("disk_capacity_bytes"))[order] & (capacity > 0)
    held = per_broker(cluster.replicas, cluster.size, len(cluster.brokers))
    peaks: list[float | None] = []
    for wave in found:
        for step in wave:
            np.add.at(held, list(step.comes), step.size)
        peaks.append(round(float((held[there] / capacity[there]).max()), 6) if there.any() else None)
        for step in wave:
            np.add.at(held, list(step.goes), -step.size)
    return peaks


def _moves(cluster: Cluster, name: str, found: list[list[Step]]) -> list[_Row]:
    ids: list[int] = cluster.brokers.tolist()
    return [
        (
            name,
            number,
            cluster.topics[cluster.topic[step.partition]],
            int(cluster.number[step.partition]),
            [ids[b] for b in step.before],
            [ids[b] for b in step.after],
            -1 if step.source < 0 else ids[step.source],
            step.size * len(step.comes) if cluster.sized[step.partition] or not step.comes else None,
        )
        for number, wave in enumerate(found, 1)
        for step in wave
    ]
