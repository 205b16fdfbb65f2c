"""A real store for each test of this folder that asks for one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.real.served import NAMES, Served, serve


@pytest.fixture(params=NAMES)
def served(request: pytest.FixtureRequest) -> Iterator[Served]:
    """A server of the test's own, of each kind."""
    with serve(request.param) as found:
        yield found
