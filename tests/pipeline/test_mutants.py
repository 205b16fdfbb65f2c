"""Kernels that are broken on purpose: each is caught by the property that it breaks, or that proves nothing."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any

import attrs
import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings

from kedge.pipeline.kernel import moves
from kedge.pipeline.kernel import waves as kernel_waves
from kedge.pipeline.kernel.seats import Seats
from kedge.pipeline.stages import plan, planned, waves
from tests.pipeline import test_plan as plans
from tests.pipeline import test_waves as cut
from tests.pipeline.snapshots import clusters

TIGHT = plans.planned(tight=True)


def broken(where: Any, name: str, mutant: Callable[..., Any]) -> Callable[[pytest.MonkeyPatch], None]:
    """Replaces a function by `mutant`, which gets the honest one and what that is called with."""
    honest = getattr(where, name)
    return lambda patch: patch.setattr(where, name, lambda *given_, **more: mutant(partial(honest, **more), *given_))


def cluster_with(**fields: Callable[[Any], Any]) -> Callable[..., Any]:
    def mutant(honest: Callable[..., Any], *given_: Any, **more: Any) -> Any:
        found = honest(*given_, **more)
        return attrs.evolve(found, **{name: change(getattr(found, name)) for name, change in fields.items()})

    return mutant


def shuffled(honest: Callable[..., Any], *given_: Any) -> Any:
    found = honest(*given_).tolist()
    SHUFFLE.shuffle(found)
    return np.array(found, np.int64)


SHUFFLE = Random(1)


def without_disks(honest: Callable[..., Any], wave: Any, step: Any, room: Any, *rest: Any) -> bool:
    return bool(honest(wave, step, attrs.evolve(room, disk_max=np.full_like(room.disk_max, 2**62)), *rest))


def no_limits(patch: pytest.MonkeyPatch) -> None:
    broken(kernel_waves._Wave, "may_add", lambda *_: True)(patch)  # noqa: SLF001 - to break it
    broken(kernel_waves, "_coloured", lambda _, steps, *__: [0] * len(steps))(patch)


DISKS = broken(Seats, "_refuses", lambda _, __, broker, staying, *___: -1 if broker in staying else 0)
SENDING = broken(Seats, "can_send", lambda *_: True)
RACKS = broken(Seats, "_open_racks", lambda _, seats, *__: seats.racks)
TWICE = broken(Seats, "_refuses", lambda *_: 0)
DEAD = broken(plan, "to_cluster", cluster_with(alive=np.ones_like))
MOVING = broken(plan, "to_cluster", cluster_with(held=np.zeros_like))
WHOLE_ROW = broken(moves, "_fill", lambda honest, _, row, *rest: honest([], [-1] * len(row), *rest))
OTHER_LOADS = broken(planned, "loads", lambda honest, use, rows, _, count: honest(use, rows, rows[:, -1], count))
CHANCE = broken(moves, "by_size", shuffled)
WAVE_DISKS = broken(kernel_waves._Wave, "may_add", without_disks)  # noqa: SLF001 - to break it
AT_ONCE = broken(waves, "steps_of", lambda _, step, **__: [step])
ROLLBACK = broken(waves, "_moves", lambda honest, *given_: [(*row[:4], row[5], *row[5:]) for row in honest(*given_)])
PEAKS = broken(waves, "_peaks", lambda honest, of, found, broker: [honest(of, [[]], broker)[0] for _ in found])
FORGOTTEN = broken(waves, "_moves", lambda honest, *given_: honest(*given_)[1:])


def check_caught(mutant: Callable[[pytest.MonkeyPatch], None], held: Any, cases: Any) -> None:
    """The property fails for one of the cases."""
    phases, checks = (Phase.generate,), tuple(HealthCheck)
    wanted = settings(max_examples=400, phases=phases, database=None, deadline=None, derandomize=True,
                      report_multiple_bugs=False, suppress_health_check=checks)  # fmt: skip
    taking: Any = given(cases)
    run: Any = wanted(taking(held.hypothesis.inner_test))
    with pytest.MonkeyPatch.context() as patch:
        mutant(patch)
        with pytest.raises(AssertionError):
            run()


@pytest.mark.slow
@pytest.mark.parametrize(
    "mutant, held, cases",
    [
        (DISKS, plans.test_no_plan_fills_a_disk_above_its_limit, TIGHT),
        (SENDING, plans.test_no_plan_asks_more_of_a_network_than_it_bears_or_bore_before, plans.planned(networks=True)),
        (RACKS, plans.test_no_plan_worsens_the_spread_over_racks, TIGHT),
        (TWICE, plans.test_no_plan_adds_a_replica_to_a_broker_that_may_not_have_it, TIGHT),
        (DEAD, plans.test_no_plan_adds_a_replica_to_a_broker_that_may_not_have_it, TIGHT),
        (MOVING, plans.test_what_is_moving_already_is_not_touched, TIGHT),
        (WHOLE_ROW, plans.test_bytes_are_at_least_the_bound_and_are_counted_from_the_rows, TIGHT),
        (WHOLE_ROW, plans.test_a_drain_where_capacity_allows_moves_what_lies_there_and_no_more, clusters(sound=True)),
        (OTHER_LOADS, plans.test_a_plan_that_is_applied_gives_the_load_that_was_promised, plans.planned()),
        (CHANCE, plans.test_the_same_input_gives_the_same_plan_whatever_the_order_of_its_rows, TIGHT),
    ],
)
def test_a_broken_plan_is_caught(mutant: Callable[[pytest.MonkeyPatch], None], held: Any, cases: Any) -> None:
    check_caught(mutant, held, cases)


@pytest.mark.slow
@pytest.mark.parametrize(
    "mutant, held",
    [
        (no_limits, cut.test_no_broker_sends_or_receives_more_at_once_than_it_may),
        (no_limits, cut.test_no_disk_is_above_its_ceiling_at_any_moment),
        (WAVE_DISKS, cut.test_no_disk_is_above_its_ceiling_at_any_moment),
        (AT_ONCE, cut.test_no_broker_sends_or_receives_more_at_once_than_it_may),
        (ROLLBACK, cut.test_the_rollback_of_every_wave_restores_what_was_before_it),
        (PEAKS, cut.test_the_fullest_disk_of_a_wave_is_as_full_as_it_says),
        (FORGOTTEN, cut.test_the_waves_in_order_reach_the_plan_but_for_what_was_refused),
    ],
)
def test_broken_waves_are_caught(mutant: Callable[[pytest.MonkeyPatch], None], held: Any) -> None:
    check_caught(mutant, held, cut.cut())
