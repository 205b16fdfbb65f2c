"""Groups under seeded mishaps, in virtual time."""

from __future__ import annotations

import pytest

from tests.groups.seeds import Seed


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 21))
def test_groups_keep_their_promises_whatever_befalls_them(seed: int) -> None:
    Seed(seed).run(mishaps=25)
