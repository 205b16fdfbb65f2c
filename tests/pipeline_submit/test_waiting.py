"""What a wave waits for before it begins: a pause after the wave before, and partitions that lack replicas in sync."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kedge.controller.model.values import TopicPartition
from kedge.pipeline.errors import Stopped
from kedge.pipeline.submit import Event, roll_back, submit
from kedge.pipeline.submit.cluster import IS_OFFLINE, Seen, behind
from tests.pipeline_submit.clusters import DOWN, DRAINED, Made, RigTime, kill

Making = Callable[..., Made]
LACKING = "orders-3 (not in sync: 6)"


def waits(made: Made) -> list[tuple[int, str]]:
    return [(event.wave, event.text) for event in made.events if event.kind == "waiting"]


@pytest.mark.slow
def test_wave_waits_for_under_replicated_partitions(made: Made) -> None:
    """Of which some are named; once they are back, it begins."""
    kill(made, DOWN)
    sent: list[bool] = []

    def restart() -> None:
        if waits(made) and not sent:
            sent.append(bool(made.moving))
            made.rig.mishaps.restart_broker(DOWN)

    assert made.submit(time=RigTime(made.rig, restart)).end == "done"
    assert sent == [False]
    (wave, text), *_ = waits(made)
    assert wave == 1
    assert text.startswith("4 under-replicated partitions that no reassignment moves: ")
    assert LACKING in text
    assert made.replicas() == made.wanted


@pytest.mark.slow
def test_wave_that_runs_is_followed_whatever_lacks_replicas(made: Made) -> None:
    """Also by a later call."""

    def interrupt(event: Event) -> None:
        if event.kind == "sent":
            raise KeyboardInterrupt

    made.rig.mishaps.pause_broker(4)
    with pytest.raises(KeyboardInterrupt):
        submit(made.folder, made.store, made.options(tell=interrupt), last=1)
    kill(made, DOWN)
    made.rig.mishaps.resume_broker(4)
    assert submit(made.folder, made.store, made.options(), last=1).waves == (1,)
    assert waits(made) == []


@pytest.mark.slow
def test_under_replicated_partitions_can_be_ignored(made: Made) -> None:
    kill(made, DOWN)
    assert submit(made.folder, made.store, made.options(ignore_under_replicated=True), last=1).waves == (1,)
    assert waits(made) == []


@pytest.mark.slow
def test_plan_that_empties_a_dead_broker_does_not_wait_for_it(made: Made) -> None:
    kill(made, DRAINED)
    assert made.submit().end == "done"
    assert waits(made) == []
    assert made.replicas() == made.wanted


@pytest.mark.slow
def test_rollback_does_not_wait(made: Made) -> None:
    submit(made.folder, made.store, made.options(), last=1)
    kill(made, DOWN)
    assert roll_back(made.folder, made.store, made.options()).waves == (1,)
    assert waits(made) == []


@pytest.mark.slow
def test_wave_waits_no_longer_than_its_timeout(made: Made) -> None:
    kill(made, DOWN)
    with pytest.raises(Stopped, match="wave 1: not complete within 30 s: 4 under-replicated"):
        made.submit(timeout_s=30)
    assert made.sent() == []


def test_dry_run_reports_what_a_wave_would_wait_for(made: Made) -> None:
    kill(made, DOWN)
    assert submit(made.folder, made.store, made.options(), dry_run=True).end == "dry run"
    (note,) = [event.text for event in made.events if event.kind == "note"]
    assert note.startswith("wave 1 would wait for 4 under-replicated partitions that no reassignment moves: ")


@pytest.mark.slow
def test_waves_are_apart_by_the_pause(made: Made) -> None:
    times: list[tuple[str, float]] = []
    clock = made.rig.clock

    def tell(event: Event) -> None:
        made.events.append(event)
        if event.kind in ("sent", "wave"):
            times.append((event.kind, clock.elapsed_ms / 1000))

    began_s = clock.elapsed_ms / 1000
    submit(made.folder, made.store, made.options(tell=tell, pause_between_waves_s=100.0), last=2)
    (first, sent_s), (_, done_s), (second, again_s), (_, end_s) = times
    assert (first, second) == ("sent", "sent")
    assert sent_s - began_s < 5
    assert 100 <= again_s - done_s < 105
    assert end_s - again_s < 50
    assert waits(made) == [(2, "1 min 40 s before wave 2")]


def test_layout_has_partitions_beside_the_plan(made: Made) -> None:
    """Which the tests above rely on."""
    beside = {tp for tp, replicas in made.before.items() if DOWN in replicas}
    assert {TopicPartition("orders", 3), TopicPartition("orders", 4)} <= beside
    assert all(DOWN not in set(made.targets[tp]) - set(made.before[tp]) for tp in made.targets)


def test_partitions_that_move_are_not_under_replicated() -> None:
    """Nor are those that are being deleted."""
    found = {
        ("lacks", 0): Seen((1, 2, 3), None, (1,), 1),
        ("moves", 0): Seen((1, 2, 3), (1, 2, 4), (1, 2), 1),
        ("whole", 0): Seen((1, 2), None, (2, 1), 1),
        ("goes", 0): Seen((1, 2), None, (), -1, problem=IS_OFFLINE),
    }
    assert behind(found.items()) == {("lacks", 0): {2, 3}}
