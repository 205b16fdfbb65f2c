"""10,000 of 20,000 partitions moved, with metrics and without, pass by pass in one process on the memory store: what
they cost, as a ratio. And what counting costs by itself: over 200,000 partitions at a takeover, for one row that is
put, and for one look at all metrics."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from contextlib import ExitStack
from statistics import geometric_mean, median
from time import perf_counter, process_time

from benchmarks.conditions import Conditions
from benchmarks.content import topics_of
from benchmarks.driven import Driven
from benchmarks.figures import figure, rate
from benchmarks.moves import BROKERS, MOVES, PARTITIONS, TOPICS, JoiningHost, driven_by, targets_of
from benchmarks.place import Place, place
from kedge import Controller
from kedge.controller.model.values import Move, Partition
from kedge.controller.state.columns import Rows
from kedge.controller.state.tally import Tally

ROUNDS, ROWS, LOOKS = 6, 200_000, 1_000


def run(where: Place) -> None:
    seconds = {True: list[float](), False: list[float]()}
    for turn in range(ROUNDS):
        for metrics, spent in moved_in_turn(where.conditions, (True, False) if turn % 2 else (False, True)).items():
            seconds[metrics].append(spent)
    ratios = [on / off for on, off in zip(seconds[True], seconds[False], strict=True)]
    for metrics, found in seconds.items():
        name = "moves, metrics on" if metrics else "moves, metrics off"
        rate(name, MOVES, median(found), clock="of the processor", rounds=ROUNDS)
    each = [round(ratio, 4) for ratio in ratios]
    figure("metrics on, against off", MOVES, median(seconds[True]), ratio=round(geometric_mean(ratios), 4), ratios=each)
    counted(where.conditions.content)


def moved_in_turn(conditions: Conditions, order: tuple[bool, bool]) -> dict[bool, float]:
    """Two clusters beside each other, with metrics and without: a pass of one, then a pass of the other, so that what
    else the machine does slows both alike. Which comes first makes a difference, too, so rounds take it in turn.
    Seconds of the processor for all moves of each."""
    with ExitStack() as stack:
        clusters = {}
        for metrics in order:
            where = stack.enter_context(place("memory", None, conditions))
            where.fill(TOPICS, PARTITIONS, BROKERS)
            clusters[metrics] = driven_by(where, JoiningHost(), metrics=metrics)
        gc.collect()
        seconds = {metrics: _submitted(driven, brokers) for metrics, (driven, _, brokers) in clusters.items()}
        controllers = {metrics: driven.controller for metrics, (driven, _, _) in clusters.items()}
        working = True
        while working:
            working = False
            for metrics, controller in controllers.items():
                began = process_time()
                working |= controller.poll_once()
                seconds[metrics] += process_time() - began
        assert not any(controller.describe().reassigning_partitions for controller in controllers.values())
        if order[0]:
            looked(controllers[True], LOOKS)
    return seconds


def _submitted(driven: Driven, brokers: Sequence[int]) -> float:
    """Seconds of the processor until all moves are handed in."""
    targets = driven.answer(driven.controller.query(lambda view: targets_of(view, brokers, MOVES)))
    began = process_time()
    driven.controller.admin.alter_partition_reassignments(targets)
    return process_time() - began


def looked(controller: Controller, looks: int) -> None:
    """A look at all that there is after such moves, on average."""
    began = perf_counter()
    for _ in range(looks):
        controller.metrics()
    figure("one look at all metrics", len(controller.metrics()), (perf_counter() - began) / looks)


def counted(content: str) -> None:
    """Beside what a walk over all partitions would cost the caller."""
    rows = [p for made in topics_of(content, ROWS // PARTITIONS, PARTITIONS, BROKERS) for p in made.partitions]
    packed = Rows()
    for row in rows:
        packed.append(row)
    began = perf_counter()
    tally = Tally.of(packed)
    rate("count all partitions", ROWS, perf_counter() - began)
    pairs = [(row, _moving(row)) for row in rows[:MOVES]]
    began = perf_counter()
    for idle, moving in pairs:
        tally.swap(idle, moving)
        tally.swap(moving, idle)
    rate("count one row that is put", 2 * MOVES, perf_counter() - began)


def _moving(row: Partition) -> Partition:
    target: Sequence[int] = [b + 3 for b in row.replicas]
    return row.but(move=Move(tuple(target), row.replicas, 0))
