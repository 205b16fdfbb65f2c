"""Groups of the consumer protocol under seeded mishaps, in virtual time; and groups that are broken on purpose."""

from __future__ import annotations

import pytest

from tests.groups.consumer_mutants import MUTANTS
from tests.groups.consumer_seeds import Seed
from tests.verify.coordinators import MISHAPS, run_seed


@pytest.mark.full
@pytest.mark.checklist(282)
@pytest.mark.parametrize("seed", range(1, 21))
def test_consumers_keep_their_promises_whatever_befalls_them(seed: int) -> None:
    run = run_seed("consumers", seed)
    assert run.error is None, run.error


@pytest.mark.full
@pytest.mark.checklist(283)
@pytest.mark.parametrize("name", MUTANTS)
def test_broken_groups_of_consumers_are_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    MUTANTS[name](monkeypatch)
    assert any(_fails(seed) for seed in range(1, 13))


def _fails(seed: int) -> bool:
    try:
        Seed(seed).run(MISHAPS)
    except Exception:  # noqa: BLE001 - whatever a broken product does
        return True
    return False
