"""10,000 of 20,000 partitions moved in one request, RF 3, 10 brokers that answer and join at once: until accepted,
until all complete, lists while they run, and store writes per move."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from time import perf_counter

from benchmarks.cluster import QuietHost, Written, named, observe, register
from benchmarks.driven import Driven
from benchmarks.figures import figure, percentile, rate
from benchmarks.place import Place
from kedge import Controller, TopicPartition
from kedge.controller.model.host import HostResponse, LeaderAndIsrPartition, LeaderAndIsrRequest
from kedge.controller.model.view import ClusterView
from kedge.stores import MetadataStore

TOPICS, PARTITIONS, BROKERS, MOVES = 2_000, 10, 10, 10_000
ASKED_S = 0.02


class JoiningHost(QuietHost):
    """Leaders that report every target in sync as soon as they hear of it."""

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
    moved(place)
    listed(place)


def moved(place: Place) -> None:
    """How fast moves are accepted and completed."""
    driven, store, targets = asked_of(place)
    controller, written = driven.controller, Written()
    observe(store, written.note)
    began = perf_counter()
    accepted = controller.admin.alter_partition_reassignments(targets).all()
    driven.until(accepted.done)
    accepted_s = perf_counter() - began
    driven.until(lambda: not controller.describe().reassigning_partitions)
    seconds = perf_counter() - began
    accepted.result(0)
    rate("moves, accepted", len(targets), accepted_s, **place.figure)
    rate(
        "moves, submit to all complete",
        len(targets),
        seconds,
        store_writes_per_move=round(written.keys / len(targets), 3),
        commits=written.commits,
        **place.figure,
    )
    controller.close()


def listed(place: Place) -> None:
    """How long an operator waits for the listing of all that moves, asked every ASKED_S from the submission to the
    end."""
    driven, _, targets = asked_of(place)
    admin = driven.controller.admin
    accepted = admin.alter_partition_reassignments(targets).all()
    lists_s: list[float] = []
    moving = True
    while moving or not accepted.done():
        asked_at = perf_counter()
        moving = bool(driven.answer(admin.list_partition_reassignments()))
        lists_s.append(perf_counter() - asked_at)
        driven.until(lambda: perf_counter() - asked_at >= ASKED_S)  # noqa: B023
    longest_s = round(max(lists_s), 6)
    figure("list while moves run, p99", len(lists_s), percentile(lists_s, 0.99), longest_s=longest_s, **place.figure)
    driven.controller.close()


def asked_of(place: Place) -> tuple[Driven, MetadataStore, dict[TopicPartition, list[int]]]:
    """A controller with all brokers up to date, its store, and the moves to request."""
    driven, store, brokers = driven_by(place, JoiningHost())
    targets = driven.answer(driven.controller.query(lambda view: targets_of(view, brokers, MOVES)))
    return driven, store, targets


def driven_by(place: Place, host: JoiningHost, *, metrics: bool = True) -> tuple[Driven, MetadataStore, list[int]]:
    """A controller with all brokers up to date, its store, and the brokers."""
    store = place.open()
    driven, brokers = place.driven(store, host, metrics=metrics), named(store)
    host.controller = driven.controller
    register(driven.controller, brokers)
    driven.settle()
    return driven, store, brokers


def targets_of(
    view: ClusterView, brokers: Sequence[int], moves: int, *, every: int = 2
) -> dict[TopicPartition, list[int]]:
    """Every second partition, up to `moves` of them, gets three brokers that it is not on."""
    place_of = {broker: place for place, broker in enumerate(brokers)}
    some = islice(view.partitions(), 0, every * moves, every)
    return {p.tp: _elsewhere([place_of[b] for b in p.replicas], brokers) for p in some}


def _elsewhere(places: Sequence[int], brokers: Sequence[int]) -> list[int]:
    """Shift all replicas by the same number of brokers, so that no broker keeps one."""
    for by in range(3, len(brokers)):
        shifted = [(place + by) % len(brokers) for place in places]
        if not set(shifted) & set(places):
            return [brokers[place] for place in shifted]
    return [brokers[place] for place in places]
