"""The listing of 100,000 running moves, from the cache."""

from __future__ import annotations

from time import perf_counter

from benchmarks.cluster import QuietHost, named, register
from benchmarks.figures import figure, percentile
from benchmarks.moves import targets_of
from benchmarks.place import Place

MOVES, PARTITIONS, BROKERS, ROUNDS = 100_000, 10, 10, 20


def run(place: Place) -> None:
    place.fill(MOVES // PARTITIONS, PARTITIONS, BROKERS)
    store = place.open()
    driven, brokers = place.driven(store, QuietHost()), named(store)
    controller = driven.controller
    register(controller, brokers)
    driven.settle()
    moves = driven.answer(controller.query(lambda view: targets_of(view, brokers, MOVES, every=1)))
    driven.answer(controller.admin.alter_partition_reassignments(moves).all())
    seconds = []
    for _ in range(ROUNDS):
        began = perf_counter()
        assert len(driven.answer(controller.admin.list_partition_reassignments())) == MOVES
        seconds.append(perf_counter() - began)
    figure("listing of running moves, p50", MOVES, percentile(seconds, 0.5), longest_s=round(max(seconds), 6))
