"""`kedge kafka-controller`: options that cannot be used. What it does with brokers is in `tests/kafka_brokers`."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from kedge.controller.cli import root
from kedge.controller.cli.controller.running import as_listeners
from kedge.controller.cli.serve.options import Place


def test_client_listeners_have_an_address_each() -> None:
    found = as_listeners(["OUT://127.0.0.1:0", "IN6://[::1]:9095"], "PLAINTEXT")
    assert found == {"OUT": Place("127.0.0.1", 0), "IN6": Place("::1", 9095)}


@pytest.mark.parametrize(
    "given, message",
    [
        (["127.0.0.1:9092"], "expected NAME://HOST:PORT, got '127.0.0.1:9092'"),
        (["://127.0.0.1:9092"], "expected NAME://HOST:PORT"),
        (["OUT://127.0.0.1"], "expected HOST:PORT"),
        (["OUT://:1", "OUT://:2"], "OUT has an address already"),
        (["PLAINTEXT://:1"], "PLAINTEXT has an address already"),
    ],
)
def test_a_client_listener_that_cannot_be_used_is_named(given: list[str], message: str) -> None:
    options = [word for each in given for word in ("--client-listener", each)]
    ran = CliRunner().invoke(root.kedge, ["kafka-controller", "--store", "zookeeper://127.0.0.1:1/kafka", *options])
    assert ran.exit_code == 2
    assert ran.stderr.startswith("kedge: --client-listener: ")
    assert message in ran.stderr


@pytest.mark.parametrize("url", ["memory:", "etcd://127.0.0.1:1/kafka"])
def test_a_store_where_kafka_brokers_do_not_register_is_refused(url: str) -> None:
    ran = CliRunner().invoke(root.kedge, ["kafka-controller", "--store", url])
    assert ran.exit_code == 2
    assert "expected ZooKeeper" in ran.stderr
