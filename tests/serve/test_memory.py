"""The memory of large requests is returned to the system."""

from __future__ import annotations

from typing import Final

import pytest

from kedge.controller.wire.calls import Address
from tests.kit.memory import resident
from tests.kit.waiting import until
from tests.serve.processes import running
from tests.wire.attack_frames import heavy
from tests.wire.served import RawClient

MIB: Final = 1 << 20
BACK_S: Final = 60.0


@pytest.mark.slow
def test_memory_of_large_requests_is_returned_within_a_minute() -> None:
    """After ten frames of 32 MB the process has 400 MB, and glibc would keep them."""
    frame = heavy("t")["fetch-partitions"]
    sent = frame.frame(frame.size)
    with running("--broker-count", "1") as server:
        host, _, port = server.at["bootstrap"].rpartition(":")
        before = resident(server.process.pid)
        for _ in range(10):
            with RawClient(Address(host, int(port))) as client:
                client.send(sent)
                assert client.receive() is None  # it has too many elements
        until(lambda: resident(server.process.pid) < before + 100 * MIB, "the memory is given back", BACK_S)
