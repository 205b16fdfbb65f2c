"""What a throttle costs: `reassign_partitions` of the same 1,000 of 2,000 partitions, RF 3, 10 brokers, without one and
with one, in turn: until all are accepted and move; commits, keys and bytes of values until then. Replicas join once all
move, and the next request is made when the moves have ended and no throttle is left. The first round does not count:
the keys of a fresh tree are its."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from time import perf_counter, process_time

import attrs

from benchmarks.cluster import Written, observe
from benchmarks.driven import Driven
from benchmarks.figures import figure, rate
from benchmarks.moves import JoiningHost, driven_by, targets_of
from benchmarks.place import Place
from kedge import HostResponse, ReassignPartitionsOptions
from kedge.controller.model.host import LeaderAndIsrPartition, LeaderAndIsrRequest
from kedge.stores import MetadataStore

TOPICS, PARTITIONS, BROKERS, MOVES, ROUNDS = 200, 10, 10, 1_000, 5
THROTTLE = 10_000_000


@attrs.frozen
class Round:
    """Until all move: seconds by the clock and of the processor, and what was written."""

    seconds: float
    processor_s: float
    written: Written


class WaitingHost(JoiningHost):
    """Leaders whose replicas join when they are let."""

    def __init__(self) -> None:
        super().__init__()
        self._told: list[tuple[LeaderAndIsrPartition, int]] = []
        self.joining = False

    def leader_and_isr(self, request: LeaderAndIsrRequest) -> HostResponse:
        if not self.joining:
            led = [p for p in request.partitions if p.leader == request.broker_id and p.target_replicas is not None]
            self._told += [(told, request.broker_epoch) for told in led]
        return super().leader_and_isr(request)

    def join(self) -> None:
        """From now on they join at once."""
        self.joining, told = True, self._told
        self._told = []
        for partition, broker_epoch in told:
            self._join(partition, broker_epoch)


def run(place: Place) -> None:
    place.fill(TOPICS, PARTITIONS, BROKERS)
    host = WaitingHost()
    driven, store, brokers = driven_by(place, host)
    found: dict[int | None, list[Round]] = {None: [], THROTTLE: []}
    for _ in range(1 + ROUNDS):
        for throttle, accepted in found.items():
            accepted.append(_accepted(driven, store, host, brokers, throttle))
            _end(driven, host)
    for throttle, accepted in found.items():
        _print("without a throttle" if throttle is None else "with a throttle", accepted[1:], place)
    rounds = list(zip(found[None][1:], found[THROTTLE][1:], strict=True))
    by_clock = [round(on.seconds / off.seconds, 3) for off, on in rounds]
    by_processor = [round(on.processor_s / off.processor_s, 3) for off, on in rounds]
    figure(
        "a throttle, against none",
        MOVES,
        median(on.seconds for _, on in rounds),
        ratio=median(by_clock),
        ratios=by_clock,
        ratio_of_processor=median(by_processor),
        ratios_of_processor=by_processor,
        **place.figure,
    )


def _accepted(
    driven: Driven, store: MetadataStore, host: WaitingHost, brokers: Sequence[int], throttle: int | None
) -> Round:
    """Until all moves are accepted and move."""
    controller = driven.controller
    targets = driven.answer(controller.query(lambda view: targets_of(view, brokers, MOVES)))
    assert len(targets) == MOVES
    host.joining = False
    written = Written()
    observe(store, written.note)
    began, began_processor = perf_counter(), process_time()
    asked = controller.admin.reassign_partitions(targets, ReassignPartitionsOptions(throttle=throttle))
    accepted = asked.all()
    driven.until(lambda: accepted.done() and controller.describe().reassigning_partitions == MOVES)
    found = Round(perf_counter() - began, process_time() - began_processor, written)
    written.close()
    accepted.result(0)
    return found


def _end(driven: Driven, host: WaitingHost) -> None:
    """Wait until no partition moves any more and no throttle is left."""
    driven.settle()  # the leaders know of the moves
    host.join()
    describe = driven.controller.describe
    driven.until(lambda: not describe().reassigning_partitions and not describe().throttles_to_remove)


def _print(how: str, accepted: Sequence[Round], place: Place) -> None:
    written = accepted[0].written
    rate(
        f"reassign_partitions {how}, accepted and moving",
        MOVES,
        median(one.seconds for one in accepted),
        least_s=round(min(one.seconds for one in accepted), 6),
        processor_s=round(median(one.processor_s for one in accepted), 6),
        rounds=ROUNDS,
        commits=written.commits,
        keys=written.keys,
        value_bytes=written.value_bytes,
        **place.figure,
    )
