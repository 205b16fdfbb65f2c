"""The same seed gives the same run, to the byte."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.verify.explore import run_seed

SEEDS = (3, 17, 188)


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_a_seed_run_twice_leaves_the_same_timeline(seed: int) -> None:
    first, second = run_seed(seed), run_seed(seed)
    assert first.timeline == second.timeline
    assert first.trace == second.trace


@pytest.mark.slow
def test_two_seeds_leave_two_timelines() -> None:
    assert run_seed(3).trace != run_seed(4).trace


@pytest.mark.full
def test_a_seed_does_not_depend_on_how_strings_are_hashed() -> None:
    here = {f"seed {seed} {run_seed(seed).trace}" for seed in SEEDS}
    command = [sys.executable, "-m", "tests.verify", "explore", "--traces", "--seeds"]
    for hash_seed in ("1", "4242"):
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
        told = set()
        for seed in SEEDS:
            done = subprocess.run(
                [*command, str(seed)], env=environment, capture_output=True, text=True, check=True, timeout=60
            )
            told.add(done.stdout.splitlines()[0])
        assert told == here
