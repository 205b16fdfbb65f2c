"""10,000 of 20,000 partitions moved in one request, RF 3, 10 brokers that answer and join at once: until accepted,
until all complete, lists while they run, and store writes per move."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from time import perf_counter, sleep

from benchmarks.cluster import QuietHost, Written, named, observe, register, settle
from benchmarks.figures import figure, percentile, rate
from benchmarks.place import Place
from controller import Controller, TopicPartition
from controller.model.host import HostResponse, LeaderAndIsrPartition, LeaderAndIsrRequest
from controller.model.view import ClusterView
from stores import MetadataStore

TOPICS, PARTITIONS, BROKERS, MOVES = 2_000, 10, 10, 10_000


class JoiningHost(QuietHost):
    """Leaders that report every target in sync as soon as they are told of it."""

    def __init__(self) -> None:
        self.controller: Controller
        self.epochs: dict[int, int] = {}
        self.joining = True

    def leader_and_isr(self, request: LeaderAndIsrRequest) -> HostResponse:
        for told in request.partitions:
            if self.joining and told.leader == request.broker_id and told.target_replicas is not None:
                self._join(told, request.broker_epoch)
        return HostResponse()

    def _join(self, told: LeaderAndIsrPartition, broker_epoch: int) -> None:
        missing = [b for b in told.target_replicas or () if b not in told.isr]
        if missing:
            self.controller.alter_isr(
                TopicPartition(told.topic, told.partition),
                told.leader,
                told.leader_epoch,
                told.partition_epoch,
                [*told.isr, *missing],
                broker_epoch,
            )


def run(place: Place) -> None:
    place.fill(TOPICS, PARTITIONS, BROKERS)
    moved_by_polling(place)
    listed_beside_threads(place)


def moved_by_polling(place: Place) -> None:
    """How fast moves are decided, in one thread with the host."""
    controller, store, brokers = driven_by(place, JoiningHost())
    register(controller, brokers)
    settle(controller)
    moves = controller.query(lambda view: targets_of(view, brokers))
    settle(controller)
    targets, written = moves.result(0), Written()
    observe(store, written.note)
    began = perf_counter()
    result = controller.admin.alter_partition_reassignments(targets)
    futures = list(result.values.values())
    accepted_s = None
    moving = True
    while moving:
        controller.poll_once()
        if accepted_s is None and futures[-1].done() and all(future.done() for future in futures):
            accepted_s = perf_counter() - began
        moving = accepted_s is None or bool(controller.describe().reassigning_partitions)
    seconds = perf_counter() - began
    assert all(future.exception() is None for future in futures)
    settle(controller)
    rate("moves, accepted", len(targets), accepted_s or 0.0, **place.figure)
    rate(
        "moves, submit to all complete",
        len(targets),
        seconds,
        store_writes_per_move=round(written.keys / len(targets), 3),
        commits=written.commits,
        **place.figure,
    )
    controller.close()


def listed_beside_threads(place: Place) -> None:
    """How long an operator waits for the listing of all that moves, again and again from the submission to the end,
    from a thread of its own."""
    controller, _, brokers = driven_by(place, JoiningHost())
    register(controller, brokers)
    controller.start()
    while len(controller.describe().live_brokers) < len(brokers):
        sleep(0.01)
    targets = controller.query(lambda view: targets_of(view, brokers)).result(60)
    accepted = controller.admin.alter_partition_reassignments(targets).all()
    lists_s: list[float] = []
    moving = True
    while moving or not accepted.done():
        asked_at = perf_counter()
        moving = bool(controller.admin.list_partition_reassignments().result(600))
        lists_s.append(perf_counter() - asked_at)
    longest_s = round(max(lists_s), 6)
    figure("list while moves run, p99", len(lists_s), percentile(lists_s, 0.99), longest_s=longest_s, **place.figure)
    controller.close()


def driven_by(place: Place, host: JoiningHost) -> tuple[Controller, MetadataStore, list[int]]:
    """A controller over the partitions that nothing drives yet, its store, and the brokers that there are."""
    store = place.open()
    controller = host.controller = Controller(store, 1, host)
    return controller, store, named(store)


def targets_of(view: ClusterView, brokers: Sequence[int]) -> dict[TopicPartition, list[int]]:
    """Every second partition, up to MOVES, gets three brokers that it is not on."""
    place_of = {broker: place for place, broker in enumerate(brokers)}
    some = islice(view.partitions(), 0, 2 * MOVES, 2)
    return {p.tp: [brokers[(place_of[b] + 3) % len(brokers)] for b in p.replicas] for p in some}
