"""How far a wave is, by the sizes of the replicas that it copies, and what that costs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest

from kedge.controller.model.copying import Copy
from kedge.controller.model.values import TopicPartition
from kedge.pipeline.submit import Event, cancel
from kedge.pipeline.submit.cluster import Replica
from kedge.pipeline.submit.kept import progress_file
from kedge.pipeline.submit.measuring import by_broker, slowest_partition
from tests.pipeline_submit.clusters import RATE, Made, make

LARGE_RECORDS = 2_500
LARGE_BYTES, SMALL_BYTES = 2_600_000, 100_000
MOVES = 8
OF_ONE_BROKER = TopicPartition("orders", 4)
"""A partition with a replica on broker 1 and none on broker 2."""
READ_EACH_S = 1.0


class Counted:
    """The admin API of the active controller; `sized` has the times at which it was asked for sizes."""

    def __init__(self, made: Made) -> None:
        self._made, self.sized = made, list[float]()

    def __getattr__(self, name: str) -> Any:
        if name == "describe_replica_log_dirs":
            self.sized.append(self._made.rig.clock.elapsed_ms / 1000)
        return getattr(self._made.rig.admin, name)


@attrs.frozen
class Followed:
    """A wave that ran: the events that follow it with their times, when sizes were requested, and when it ended."""

    events: list[tuple[float, Event]]
    sized: list[float]
    end_s: float

    @property
    def readings(self) -> list[tuple[float, Event]]:
        """The first event after each reading of sizes."""
        return [next(found for found in self.events if found[0] >= at_s) for at_s in self.sized]


@pytest.fixture(scope="module")
def followed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Followed]:
    """One wave that empties two brokers: broker 4 receives 3.3 MB, most of it of one partition; broker 5 0.6 MB."""
    options = {"drained": (1, 2), "per_broker": 9, "large": OF_ONE_BROKER, "large_records": LARGE_RECORDS}
    made = make(tmp_path_factory.mktemp("large"), **options)  # type: ignore[arg-type]
    made.rig.run(1_000)  # brokers have reported their logs
    clock, admin = made.rig.clock, Counted(made)
    events: list[tuple[float, Event]] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("kedge.pipeline.submit.measuring.READ_S", READ_EACH_S)
        made.submit(admin=lambda: admin, tell=lambda event: events.append((clock.elapsed_ms / 1000, event)))
    yield Followed([(s, e) for s, e in events if e.kind == "following"], admin.sized, clock.elapsed_ms / 1000)
    made.close()


@pytest.mark.slow
def test_remaining_time_is_that_of_a_large_partition(followed: Followed) -> None:
    """Also while another broker still receives at the same rate, and when all others are complete."""
    late = followed.readings[3:-1]
    assert min(event.moves_done for _, event in late) < MOVES - 1
    for at_s, event in late:
        assert event.remaining_s == pytest.approx(followed.end_s - at_s, rel=0.3, abs=1)
        assert event.slowest == f"{OF_ONE_BROKER}"


@pytest.mark.slow
def test_bytes_are_those_of_new_replicas_against_their_leaders(followed: Followed) -> None:
    (_, first), *others = followed.readings
    whole = LARGE_BYTES + 13 * SMALL_BYTES
    assert first.copy == Copy(0, whole)
    assert {event.copy.to_copy for _, event in others} == {whole}
    alone = [(followed.end_s - at_s, event) for at_s, event in others if event.moves_done == MOVES - 1]
    assert len(alone) > 5
    for left_s, event in alone:
        assert event.copy.left == pytest.approx(left_s * RATE, abs=0.8 * RATE)


@pytest.mark.slow
def test_sizes_are_requested_now_and_then(followed: Followed) -> None:
    """Although a wave is looked at five times a second."""
    gaps = [after - before for before, after in zip(followed.sized, followed.sized[1:], strict=False)]
    assert min(gaps) >= READ_EACH_S
    assert len(followed.events) > 3 * len(followed.sized)


@pytest.mark.slow
def test_resumed_wave_counts_from_its_beginning(tmp_path: Path) -> None:
    """Its time, and the bytes that it had copied before."""
    made = make(tmp_path, per_broker=9, large_records=LARGE_RECORDS)
    made.rig.run(1_000)
    began_s = made.rig.clock.elapsed_ms / 1000

    def interrupt(event: Event) -> None:
        if event.kind == "following" and event.moves_done == MOVES - 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        made.submit(tell=interrupt)
    made.rig.run(2_000)
    made.submit()
    first, *_, last = made.events
    assert (first.copy.to_copy or 0) - (first.copy.copied or 0) < LARGE_BYTES
    assert first.copy.to_copy == LARGE_BYTES + (MOVES - 1) * SMALL_BYTES
    assert first.seconds > 5
    assert last.kind == "wave"
    assert last.seconds == pytest.approx(made.rig.clock.elapsed_ms / 1000 - began_s, abs=0.5)
    made.close()


@pytest.mark.slow
def test_cancelled_wave_begins_again(making: Callable[..., Made]) -> None:
    """Its time is not that since the first attempt."""
    made = making(throttle_bps=None, networks=False)

    def interrupt(event: Event) -> None:
        if event.kind == "sent":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        made.submit(tell=interrupt)
    assert "began" in progress_file(made.folder).read_text()
    cancel(made.folder, made.store, made.options())
    assert "began" not in progress_file(made.folder).read_text()
    made.rig.run(60_000)
    made.submit()
    assert {event.wave for event in made.events if event.kind == "wave" and event.seconds < 30} == {1, 2, 3, 4}


# --- of copies


def copies(*found: tuple[int, int, float | None, int]) -> dict[Replica, Copy]:
    """Bytes copied, bytes to copy, rate and broker of each."""
    return {((f"t{n}", n), broker): Copy(*copy) for n, (*copy, broker) in enumerate(found)}  # type: ignore[arg-type]


def test_copies_of_one_broker_are_summed() -> None:
    found = by_broker(copies((0, 100, 5.0, 1), (50, 100, 5.0, 1), (0, 100, 5.0, 2)))
    assert found == {1: Copy(50, 200, 10.0), 2: Copy(0, 100, 5.0)}


def test_slowest_partition_has_a_known_size() -> None:
    unknown = {(("u", 0), 3): Copy(None, None)}
    assert slowest_partition(copies((9, 10, 1.0, 1), (0, 50, 1.0, 2)) | unknown) == "t1-1"
    assert slowest_partition(unknown | copies((10, 10, None, 1))) == ""
