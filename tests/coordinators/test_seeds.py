"""Groups and transactions under seeded mishaps, in virtual time; and such as are broken on purpose."""

from __future__ import annotations

from typing import Any

import pytest

from kedge.controller.wire.groups import GroupRecords
from tests.groups import consumer_mutants
from tests.groups.seeds import Seed
from tests.transactions import mutants
from tests.verify.__main__ import main
from tests.verify.coordinators import run_seed

KINDS = [
    "groups",
    pytest.param("consumers", marks=pytest.mark.checklist(282)),
    pytest.param("transactions", marks=pytest.mark.checklist(276)),
]
CAUGHT = {
    "commits_of_old_epochs": 7,
    "slow_members_stay": 39,
    "upgrade_without_partitions": 16,
    "static_members_keep_their_epoch": 6,
    "stable_before_the_marker_is_committed": 11,
    "complete_without_markers": 6,
    "first_marker_is_enough": 6,
}
"""The first seed that catches it, where that is not one of the first three. It changes with the tables of trouble."""
BROKEN = [
    *(pytest.param("consumers", each, marks=pytest.mark.checklist(283)) for each in consumer_mutants.MUTANTS.values()),
    *(pytest.param("transactions", each, marks=pytest.mark.checklist(277)) for each in mutants.MUTANTS.values()),
]


@pytest.mark.full
@pytest.mark.parametrize("kind, seed", [("consumers", 308), ("transactions", 59)])
def test_coordinator_that_failed_is_loaded_once_its_broker_knows_its_epoch(kind: str, seed: int) -> None:
    run = run_seed(kind, seed)
    assert run.error is None, run.error


@pytest.mark.full
@pytest.mark.parametrize("seed", range(1, 11))
@pytest.mark.parametrize("kind", KINDS)
def test_promises_are_kept_whatever_happens(kind: str, seed: int) -> None:
    run = run_seed(kind, seed)
    assert run.error is None, run.error


@pytest.mark.full
@pytest.mark.parametrize("kind, breaks", BROKEN)
def test_broken_coordinators_are_caught(kind: str, breaks: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    breaks(monkeypatch)
    first = CAUGHT.get(breaks.__name__, 1)
    assert any(run_seed(kind, seed).error is not None for seed in (first, *range(1, 31)))


def test_seeds_compact_the_log_of_groups() -> None:
    seed = Seed(1)
    seed.run(mishaps=2)
    leader = seed.rig.leader(seed.tp)
    assert leader is not None
    replica = leader.replica(seed.tp)
    assert replica is not None
    assert seed.logs.shelves.of(replica).size_bytes < seed.logs.shelves.of(replica).written_bytes / 2


@pytest.mark.slow
def test_failing_seed_prints_its_replay(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A coordinator that loads nothing loses offsets."""
    assert main(["groups", "--seeds", "1", "--steps", "3"]) == 0
    assert "1 seeds, 0 failed" in capsys.readouterr().out
    monkeypatch.setattr(GroupRecords, "decode", lambda *_: [])
    assert main(["groups", "--seeds", "2"]) == 1
    out = capsys.readouterr().out
    assert "seed 2 FAILED" in out
    assert "replay: python -m tests.verify groups --seeds 2 --timeline" in out
