"""What most tests of the journal begin with."""

from __future__ import annotations

import pytest

from tests.journal.told import Told


@pytest.fixture
def told() -> Told:
    """A journal whose term has begun."""
    begun = Told()
    begun.take_over()
    return begun
