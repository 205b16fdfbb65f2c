"""A gateway is closed while its clients ask."""

from __future__ import annotations

import contextlib
import threading

import pytest

from kedge.controller.wire import Gateway
from tests.wire.served import DEADLINE_S, RawClient, Served


@pytest.mark.slow
def test_a_gateway_closes_though_its_clients_go_on_asking() -> None:
    """What comes in at the very moment of closing does not make anybody wait for the next request."""
    with Served() as served:
        for _ in range(20):
            gateway = Gateway(served.controller)
            address = gateway.start()
            begun = threading.Barrier(5)
            clients = [threading.Thread(target=_ask_on, args=(address, begun)) for _ in range(4)]
            closing = threading.Thread(target=gateway.close, daemon=True)
            for client in clients:
                client.start()
            begun.wait(DEADLINE_S)
            closing.start()
            for thread in (closing, *clients):
                thread.join(DEADLINE_S)
                assert not thread.is_alive()


def _ask_on(address: object, begun: threading.Barrier) -> None:
    """Until it is hung up on."""
    with contextlib.suppress(OSError, AssertionError), RawClient(address) as client:
        client.ask("ApiVersions", 4)
        begun.wait(DEADLINE_S)
        while True:
            client.ask("ApiVersions", 4)
