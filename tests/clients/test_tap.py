"""What watches the clients does see a request that was misread."""

from __future__ import annotations

import pytest

from kedge.controller.wire.protocol import API_VERSIONS
from tests.clients.tap import Tap

pytestmark = [pytest.mark.server, pytest.mark.full]

FRAME = b"\x00\x12\x00\x00\x00\x00\x00\x07\x00\x01c"  # ApiVersions of version 0, of a client that is called c


@pytest.mark.parametrize("rest, misread", [(b"", 0), (b"\x00", 1)])
def test_bytes_that_are_not_understood_are_reported(rest: bytes, misread: int) -> None:
    tap = Tap()
    tap.apis[API_VERSIONS].messages.request.decode(FRAME + rest, version=0, header=True)
    assert len(tap.misread) == misread
    assert tap.seen == {("c", "ApiVersionsRequest", 0)}
