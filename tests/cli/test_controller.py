"""Addresses of `kedge kafka-controller`. What it does with brokers is in `tests/kafka_brokers`."""

from __future__ import annotations

from kedge.controller.cli.controller.running import as_listeners
from kedge.controller.cli.serve.options import Place


def test_client_listeners_have_an_address_each() -> None:
    found = as_listeners(["OUT://127.0.0.1:0", "IN6://[::1]:9095"], "PLAINTEXT")
    assert found == {"OUT": Place("127.0.0.1", 0), "IN6": Place("::1", 9095)}
