"""What most tests of the gateway begin with."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.wire.served import RawClient


@pytest.fixture
def client(request: pytest.FixtureRequest) -> Iterator[RawClient]:
    """A client of the cluster that the test's module has as the fixture `served`, `living` or `remote`."""
    name = next(name for name in ("served", "living", "remote") if hasattr(request.module, name))
    with RawClient(request.getfixturevalue(name).address) as opened:
        yield opened
