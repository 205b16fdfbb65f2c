"""Seeded runs with requests and mishaps, healed in the end: every invariant held at every step, and all converged."""

from __future__ import annotations

import pytest

from controller.rig.explore import run_seed

FAST = range(1, 7)
FOUND = (
    217,  # a broker that bounced before it was admitted stayed known under its former epoch
    282,  # the same, with commits of few keys
    69,  # a key read twice and written back in between: its partition epoch went back
    143,  # an isr that a leader wrote into the key of a topic that is being deleted was overwritten
    265,  # the same, in a larger cluster
    1317,  # a broker came back while the key of a topic that is being deleted was mended: never told to delete its log
    1527,  # a target that was away held a log of a partition whose state key nobody could read: not asked to delete it
    2824,  # a broken state key was written again, and no leader heard of its partition epoch
    3474,  # the same, in a larger cluster
)
"""Seeds that failed once. What a seed does changes with the tables of work and trouble: each has a test of its own
beside it, by the same words."""
BLOCKS = [range(first, first + 25) for first in range(7, 207, 25)]
FOUND_LONG = (4_019,)  # more deletions acknowledged at once than a commit takes: never forgotten
LONG = [range(first, first + 10) for first in range(5_001, 5_021, 10)]


def _hold(seeds: range, steps: int) -> None:
    for seed in seeds:
        run = run_seed(seed, steps)
        replay = f"python -m controller.rig explore --seeds {seed} --steps {steps} --timeline"
        assert run.error is None, f"{run.error}\nreplay: {replay}"


@pytest.mark.checklist(112, 113)
@pytest.mark.parametrize("seed", [*FAST, *FOUND])
def test_a_broken_cluster_heals(seed: int) -> None:
    _hold(range(seed, seed + 1), 300)


@pytest.mark.slow
@pytest.mark.parametrize("seeds", BLOCKS, ids=lambda seeds: f"{seeds[0]}-{seeds[-1]}")
def test_many_broken_clusters_heal(seeds: range) -> None:
    _hold(seeds, 300)


@pytest.mark.slow
@pytest.mark.parametrize("seed", FOUND_LONG)
def test_a_seed_that_found_something_holds(seed: int) -> None:
    _hold(range(seed, seed + 1), 1_000)


@pytest.mark.slow
@pytest.mark.parametrize("seeds", LONG, ids=lambda seeds: f"{seeds[0]}-{seeds[-1]}")
def test_clusters_that_were_broken_for_long_heal(seeds: range) -> None:
    _hold(seeds, 1_000)
