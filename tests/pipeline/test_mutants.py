"""Kernels that are broken on purpose: each is caught by the property that it breaks, or that proves nothing."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import attrs
import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings

from kedge.pipeline.kernel import cluster, moves, outcome
from kedge.pipeline.kernel import waves as kernel_waves
from kedge.pipeline.kernel.seats import Seats
from kedge.pipeline.stages import arrays, plan, waves
from tests.pipeline import test_plan, test_waves
from tests.pipeline.snapshots import clusters

Patch = pytest.MonkeyPatch
Property = Callable[..., None]


def _caught_by(held: Property, cases: Any) -> None:
    """The property fails for one of the cases."""
    inner: Any = held
    wanted = settings(
        max_examples=400,
        phases=(Phase.generate,),
        database=None,
        deadline=None,
        derandomize=True,
        report_multiple_bugs=False,
        suppress_health_check=tuple(HealthCheck),
    )
    taking: Any = given(cases)
    run: Any = wanted(taking(inner.hypothesis.inner_test))
    with pytest.raises(AssertionError):
        run()


def _disks_do_not_count(patch: Patch) -> None:
    def refuses(_: Seats, broker: int, staying: Any, *__: Any) -> int:
        return -1 if broker in staying else 0

    patch.setattr(Seats, "_refuses", refuses)


def _who_stays_sends_no_more(patch: Patch) -> None:
    patch.setattr(Seats, "can_send", lambda *_: True)


def _racks_do_not_count(patch: Patch) -> None:
    patch.setattr(Seats, "_open_racks", lambda self, _: self.racks)


def _brokers_twice(patch: Patch) -> None:
    patch.setattr(Seats, "_refuses", lambda *_: 0)


def _the_dead_take_replicas(patch: Patch) -> None:
    honest = arrays.to_cluster

    def mutant(*given_: Any, **more: Any) -> Any:
        found = honest(*given_, **more)
        return attrs.evolve(found, alive=np.ones_like(found.alive))

    patch.setattr(plan, "to_cluster", mutant)


def _moving_partitions_are_moved(patch: Patch) -> None:
    honest = arrays.to_cluster

    def mutant(*given_: Any, **more: Any) -> Any:
        found = honest(*given_, **more)
        return attrs.evolve(found, held=np.zeros_like(found.held))

    patch.setattr(plan, "to_cluster", mutant)


def _more_is_moved_than_need_be(patch: Patch) -> None:
    """The whole row goes elsewhere where one replica had to."""

    def fill(_: list[int], row: list[int], seats: Seats, *carried: Any) -> Any:
        return honest([], [-1] * len(row), seats, *carried)

    honest = moves._fill  # noqa: SLF001 - to break it
    patch.setattr(moves, "_fill", fill)


def _a_promise_of_other_loads(patch: Patch) -> None:
    honest = cluster.leaders_per_broker
    patch.setattr(plan, "leaders_per_broker", lambda rows, count: honest(rows[:, ::-1], count))


def _chance(patch: Patch) -> None:
    random = Random(1)
    honest = outcome.by_size

    def mutant(*given_: Any) -> Any:
        found = honest(*given_).tolist()
        random.shuffle(found)
        return np.array(found, np.int64)

    patch.setattr(moves, "by_size", mutant)


@pytest.mark.slow
@pytest.mark.parametrize(
    "mutant,held,cases",
    [
        (_disks_do_not_count, test_plan.test_no_plan_fills_a_disk_above_its_limit, test_plan.planned(tight=True)),
        (
            _who_stays_sends_no_more,
            test_plan.test_no_plan_asks_more_of_a_network_than_it_bears_or_bore_before,
            test_plan.planned(networks=True),
        ),
        (_racks_do_not_count, test_plan.test_no_plan_worsens_the_spread_over_racks, test_plan.planned(tight=True)),
        (
            _brokers_twice,
            test_plan.test_no_plan_adds_a_replica_to_a_broker_that_may_not_have_it,
            test_plan.planned(tight=True),
        ),
        (
            _the_dead_take_replicas,
            test_plan.test_no_plan_adds_a_replica_to_a_broker_that_may_not_have_it,
            test_plan.planned(tight=True),
        ),
        (
            _moving_partitions_are_moved,
            test_plan.test_what_is_moving_already_is_not_touched,
            test_plan.planned(tight=True),
        ),
        (
            _more_is_moved_than_need_be,
            test_plan.test_bytes_are_at_least_the_bound_and_are_counted_from_the_rows,
            test_plan.planned(tight=True),
        ),
        (
            _more_is_moved_than_need_be,
            test_plan.test_a_drain_where_capacity_allows_moves_what_lies_there_and_no_more,
            clusters(sound=True),
        ),
        (
            _a_promise_of_other_loads,
            test_plan.test_a_plan_that_is_applied_gives_the_load_that_was_promised,
            test_plan.planned(),
        ),
        (
            _chance,
            test_plan.test_the_same_input_gives_the_same_plan_whatever_the_order_of_its_rows,
            test_plan.planned(tight=True),
        ),
    ],
)
def test_a_broken_plan_is_caught(
    mutant: Callable[[Patch], None], held: Property, cases: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    mutant(monkeypatch)
    _caught_by(held, cases)


def _waves_without_limits(patch: Patch) -> None:
    patch.setattr(kernel_waves._Wave, "may_add", lambda *_: True)  # noqa: SLF001 - to break it
    patch.setattr(kernel_waves, "_coloured", lambda steps, *_: [0] * len(steps))


def _disks_of_waves_do_not_count(patch: Patch) -> None:
    honest = kernel_waves._Wave.may_add  # noqa: SLF001 - to break it

    def mutant(self: Any, step: Any, room: Any, k: int, held: list[int]) -> bool:
        return honest(self, step, attrs.evolve(room, disk_max=np.full_like(room.disk_max, 2**62)), k, held)

    patch.setattr(kernel_waves._Wave, "may_add", mutant)  # noqa: SLF001 - to break it


def _several_at_a_time(patch: Patch) -> None:
    patch.setattr(waves, "steps_of", lambda step, **_: [step])


def _a_rollback_to_what_is_to_be(patch: Patch) -> None:
    honest = waves._moves  # noqa: SLF001 - to break it

    def mutant(*given_: Any) -> list[Any]:
        return [(*row[:4], row[5], *row[5:]) for row in honest(*given_)]

    patch.setattr(waves, "_moves", mutant)


def _peaks_of_what_was(patch: Patch) -> None:
    honest = waves._peaks  # noqa: SLF001 - to break it
    patch.setattr(waves, "_peaks", lambda cluster, found, broker: [honest(cluster, [[]], broker)[0] for _ in found])


def _a_wave_is_forgotten(patch: Patch) -> None:
    honest = waves._moves  # noqa: SLF001 - to break it
    patch.setattr(waves, "_moves", lambda *given_: honest(*given_)[1:])


@pytest.mark.slow
@pytest.mark.parametrize(
    "mutant,held",
    [
        (_waves_without_limits, test_waves.test_no_broker_sends_or_receives_more_at_once_than_it_may),
        (_waves_without_limits, test_waves.test_no_disk_is_above_its_ceiling_at_any_moment),
        (_disks_of_waves_do_not_count, test_waves.test_no_disk_is_above_its_ceiling_at_any_moment),
        (_several_at_a_time, test_waves.test_no_broker_sends_or_receives_more_at_once_than_it_may),
        (_a_rollback_to_what_is_to_be, test_waves.test_the_rollback_of_every_wave_restores_what_was_before_it),
        (
            _a_rollback_to_what_is_to_be,
            test_waves.test_rolling_the_waves_back_from_the_last_to_the_first_gives_the_snapshot,
        ),
        (_peaks_of_what_was, test_waves.test_the_fullest_disk_of_a_wave_is_as_full_as_it_says),
        (_a_wave_is_forgotten, test_waves.test_the_waves_in_order_reach_the_plan_but_for_what_was_refused),
    ],
)
def test_broken_waves_are_caught(
    mutant: Callable[[Patch], None], held: Property, monkeypatch: pytest.MonkeyPatch
) -> None:
    mutant(monkeypatch)
    _caught_by(held, test_waves.cut())
