"""Seeds in which a Kafka broker becomes controller whenever it finds no `/controller`: the fence holds all the same."""

from __future__ import annotations

import pytest

from tests.verify.explore import run_seed


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 9))
def test_the_fence_holds_beside_a_kafka_controller(seed: int) -> None:
    """No commit of a deposed controller is applied, in both directions, and all converges once the broker is gone."""
    run = run_seed(seed, beside_kafka=True)
    assert run.error is None, run.error
    assert run.foreign_terms > 0
    assert run.commits > 20


@pytest.mark.slow
def test_a_run_beside_kafka_is_the_same_twice() -> None:
    assert run_seed(3, beside_kafka=True).trace == run_seed(3, beside_kafka=True).trace
