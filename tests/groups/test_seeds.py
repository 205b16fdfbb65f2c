"""Groups under seeded mishaps, in virtual time."""

from __future__ import annotations

import pytest

from kedge.controller.wire.groups import GroupRecords
from tests.groups.seeds import Seed
from tests.verify.__main__ import main
from tests.verify.coordinators import run_seed


@pytest.mark.full
@pytest.mark.parametrize("seed", range(1, 21))
def test_groups_keep_their_promises_whatever_befalls_them(seed: int) -> None:
    run = run_seed("groups", seed)
    assert run.error is None, run.error


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
