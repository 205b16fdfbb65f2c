"""A plan with maintenance windows: waves start in them, and what runs is not held up by them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import attrs
import pytest

from kedge.pipeline.errors import Stopped
from kedge.pipeline.stages.export import export
from kedge.pipeline.submit import Event, cancel, roll_back, submit, window
from tests.pipeline_submit.clusters import DOWN, Made, RigTime, kill

LONG_S = 1.0
BEGAN = datetime(2026, 11, 28, 21, 50, tzinfo=UTC)
NIGHT = (window("22:00-22:30 UTC"),)
OPENS = "the next maintenance window opens at 2026-11-28 22:00 UTC"


@attrs.define
class Clock(RigTime):
    """The rig's time, with a time of day: ten minutes before the window opens. While the submitter waits for a window,
    the time of day goes on alone: the rig would simulate hours of heartbeats."""

    began: datetime = BEGAN

    def utc_now(self) -> datetime:
        return self.began + timedelta(seconds=self.now_s())

    def pause(self, seconds: float) -> None:
        is_closed = seconds > LONG_S
        self.began += timedelta(seconds=seconds if is_closed else 0)
        super().pause(0.01 if is_closed else seconds)


def at(made: Made, moment: datetime, **more: object) -> Clock:
    return Clock(made.rig, began=moment - timedelta(seconds=made.rig.clock.elapsed_ms / 1000), **more)  # type: ignore[arg-type]


def sent_at(made: Made, clock: Clock) -> tuple[list[datetime], Callable[[Event], None]]:
    """When waves are submitted, as they are."""
    found: list[datetime] = []

    def tell(event: Event) -> None:
        made.events.append(event)
        if event.kind == "sent":
            found.append(clock.utc_now())

    return found, tell


@pytest.mark.slow
def test_first_wave_waits_for_the_window(made: Made) -> None:
    clock = at(made, BEGAN)
    found, tell = sent_at(made, clock)
    assert made.submit(time=clock, tell=tell, windows=NIGHT).end == "done"
    assert BEGAN + timedelta(minutes=10) <= min(found) < BEGAN + timedelta(minutes=11)
    assert {event.text for event in made.events if event.kind == "waiting"} == {OPENS}
    assert made.replicas() == made.wanted


@pytest.mark.slow
def test_a_wave_that_runs_at_the_end_completes_and_the_next_one_waits(made: Made) -> None:
    clock = at(made, datetime(2026, 11, 28, 22, 29, 59, 900_000, tzinfo=UTC))
    found, tell = sent_at(made, clock)
    later = datetime(2026, 11, 28, 23, 15, tzinfo=UTC)
    windows = (*NIGHT, window("Sat 23:15-23:45 UTC"))
    assert made.submit(time=clock, tell=tell, windows=windows).waves == (1, 2, 3, 4)
    assert [moment >= later for moment in found] == [False, True, True, True]


@pytest.mark.slow
def test_a_window_that_closes_while_replicas_lack_is_not_used(made: Made) -> None:
    """The replicas are back when it has closed."""
    kill(made, DOWN)
    clock = at(made, datetime(2026, 11, 28, 22, 29, 50, tzinfo=UTC))
    found, tell = sent_at(made, clock)

    def told(event: Event) -> None:
        tell(event)
        if "window" in event.text and not made.rig.brokers[DOWN].is_up:
            made.rig.mishaps.restart_broker(DOWN)
            there = made.rig.committed.partitions
            made.rig.until(lambda: all(len(one.isr) == len(one.replicas) for one in there.values()), what="ISRs")

    assert made.submit(time=clock, tell=told, windows=(*NIGHT, window("Sat 23:15-23:45 UTC"))).end == "done"
    assert any("under-replicated" in event.text for event in made.events)
    assert min(found) >= datetime(2026, 11, 28, 23, 15, tzinfo=UTC)


@pytest.mark.slow
def test_windows_of_the_export_hold_unless_others_are_given(made: Made) -> None:
    export(made.tables, made.folder, cluster="rig", snapshot="1", windows=[one.text for one in NIGHT])
    clock = at(made, BEGAN)
    submit(made.folder, made.store, made.options(time=clock), last=1)
    assert OPENS in {event.text for event in made.events}
    made.events.clear()
    made.submit(time=at(made, BEGAN), windows=(window("00:00-24:00 UTC"),))
    assert [event.kind for event in made.events if event.kind == "waiting"] == []


@pytest.mark.slow
def test_dry_run_reports_the_next_window_and_does_not_wait(made: Made) -> None:
    clock = at(made, BEGAN)
    submit(made.folder, made.store, made.options(time=clock, windows=NIGHT), dry_run=True)
    assert [event.text for event in made.events if event.kind == "waiting"] == [OPENS]
    assert clock.utc_now() < BEGAN + timedelta(minutes=1)


@pytest.mark.slow
def test_submitted_wave_is_followed_and_undone_at_any_time(made: Made) -> None:
    with pytest.raises(Stopped):
        made.submit(time=at(made, BEGAN), timeout_s=0.01)
    begun = made.options(time=at(made, BEGAN), windows=NIGHT)
    assert submit(made.folder, made.store, begun, last=1).waves == (1,)
    assert roll_back(made.folder, made.store, begun).waves == (1,)
    assert [event.kind for event in made.events if event.kind == "waiting"] == []


@pytest.mark.slow
def test_cancelled_wave_waits_for_the_window_again(made: Made) -> None:
    with pytest.raises(Stopped):
        made.submit(time=at(made, BEGAN), timeout_s=0.01)
    cancel(made.folder, made.store, made.options(time=at(made, BEGAN)))
    made.events.clear()
    clock = at(made, BEGAN)
    found, tell = sent_at(made, clock)
    submit(made.folder, made.store, made.options(time=clock, tell=tell, windows=NIGHT), last=1)
    assert min(found) >= BEGAN + timedelta(minutes=10)
