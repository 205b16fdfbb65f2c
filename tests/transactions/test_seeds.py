"""Transactions under seeded mishaps, in virtual time; and transactions that are broken on purpose."""

from __future__ import annotations

from typing import Final

import pytest

from tests.transactions.mutants import MUTANTS
from tests.transactions.seeds import Seed
from tests.verify.coordinators import run_seed

MISHAPS: Final = 25


@pytest.mark.full
@pytest.mark.checklist(276)
@pytest.mark.parametrize("seed", range(1, 21))
def test_transactions_keep_their_promises_whatever_befalls_them(seed: int) -> None:
    run = run_seed("transactions", seed)
    assert run.error is None, run.error


@pytest.mark.full
@pytest.mark.checklist(277)
@pytest.mark.parametrize("name", MUTANTS)
def test_broken_transactions_are_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    MUTANTS[name](monkeypatch)
    assert any(_fails(seed) for seed in range(1, 9))


def _fails(seed: int) -> bool:
    try:
        Seed(seed).run(MISHAPS)
    except Exception:  # noqa: BLE001 - whatever a broken product does
        return True
    return False
