"""The end of 10,000 moves of 400 topics under throttles that go by themselves (KIP-179), 10 brokers that answer and
join at once: from when the last move has ended until no mark is left; commits, keys and bytes of values in between."""

from __future__ import annotations

from time import perf_counter

from benchmarks.cluster import Written, observe
from benchmarks.figures import figure, rate
from benchmarks.moves import JoiningHost, driven_by, targets_of
from benchmarks.place import Place
from kedge import ThrottledRate, ThrottledReplicas

TOPICS, PARTITIONS, BROKERS = 400, 50, 10
RATE = 10_000_000


def run(place: Place) -> None:
    place.fill(TOPICS, PARTITIONS, BROKERS)
    driven, store, brokers = driven_by(place, JoiningHost())
    controller = driven.controller
    targets = driven.answer(controller.query(lambda view: targets_of(view, brokers, TOPICS * PARTITIONS // 2)))
    began = perf_counter()
    replicas = {tp: ThrottledReplicas(tuple(brokers[:3]), tuple(target)) for tp, target in targets.items()}
    rates = {broker: ThrottledRate(RATE, RATE) for broker in brokers}
    admin = controller.admin
    lists, speeds = admin.alter_interbroker_throttled_replicas(replicas), admin.alter_interbroker_throttled_rates(rates)
    asked = [*lists.values(), *speeds.values()]
    driven.until(lambda: all(future.done() for future in asked))
    set_s = perf_counter() - began
    assert all(future.exception() is None for future in asked)
    marked = controller.describe().throttles_to_remove
    assert len(marked["topics"]) == TOPICS
    written = Written()
    observe(store, written.note)
    accepted = admin.alter_partition_reassignments(targets)
    driven.answer(accepted.all())
    driven.until(lambda: not controller.describe().reassigning_partitions)
    ended_at, before = perf_counter(), (written.commits, written.keys, written.value_bytes)
    passes_s = []
    while controller.describe().throttles_to_remove:
        pass_at = perf_counter()
        controller.poll_once()
        passes_s.append(perf_counter() - pass_at)
    seconds = perf_counter() - ended_at
    rate("throttles set", len(targets), set_s, topics=TOPICS, **place.figure)
    figure(
        "throttles removed, from the end of the last move",
        len(targets),
        seconds,
        topics=TOPICS,
        commits=written.commits - before[0],
        keys=written.keys - before[1],
        value_bytes=written.value_bytes - before[2],
        longest_pass_s=round(max(passes_s), 6),
        **place.figure,
    )
