"""A gateway is as it was after each step that failed, and the step can be repeated."""

from __future__ import annotations

import socket
from contextlib import closing
from typing import Final

import pytest

from kedge.controller.codec import keys
from kedge.controller.codec.small import encode_gateway
from kedge.controller.wire import Gateway, Peers
from kedge.controller.wire.peers.directory import AlreadyRunning
from kedge.stores import MemoryStore
from kedge.stores.base import ABSENT, MetadataStore, Put
from tests.wire.served import DEADLINE_S, Served

KEY: Final = keys.gateway(1)


def listening() -> tuple[socket.socket, int]:
    """A program that has a port."""
    other = socket.create_server(("127.0.0.1", 0))
    return other, other.getsockname()[1]


def test_gateway_that_could_not_listen_is_started_later() -> None:
    other, port = listening()
    with Served() as served:
        gateway = Gateway(served.controller, port=port)
        with other, pytest.raises(OSError, match="address already in use"):
            gateway.start()
        with gateway:
            assert gateway.address.port == port
            assert gateway.addresses([1]).keys() == {1}


def test_gateway_whose_id_was_taken_is_started_later() -> None:
    other, port = listening()
    with (
        Served() as served,
        closing(MemoryStore(served.server)) as session,
        closing(MemoryStore(served.server)) as second,
    ):
        take(second, port)
        gateway = Gateway(served.controller, peers=Peers(store=session))
        with other, pytest.raises(AlreadyRunning):
            gateway.start()
        with gateway:
            assert gateway.addresses([1]).keys() == {1}


def take(store: MetadataStore, port: int) -> None:
    """Another process has a gateway under the id of the controller, at this port."""
    value = encode_gateway("127.0.0.1", port)
    store.commit([Put(KEY, value, ABSENT, ephemeral=True)], timeout_s=DEADLINE_S)
