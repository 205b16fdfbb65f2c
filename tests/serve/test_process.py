"""`kedge serve` as a process, and stock clients of it."""

from __future__ import annotations

import json
import re
import signal
import urllib.request
from contextlib import closing
from pathlib import Path
from urllib.error import HTTPError

import kafka
import pytest

from controller.wire.security.users import salted
from stores import MemoryServer
from tests.serve.processes import DEADLINE_S, begun, serving


def get(url: str) -> str:
    with urllib.request.urlopen(url, timeout=DEADLINE_S) as answer:  # noqa: S310 - ours
        return str(answer.read().decode())


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_says_where_what_listens_and_ends_when_it_is_told(number: signal.Signals) -> None:
    process = begun("--listen", "127.0.0.1:0", "--status", "127.0.0.1:0", "--racks", "a,b", "--brokers", "2")
    assert process.stdout is not None
    lines: list[str] = []
    while not lines or not lines[-1].startswith("ready"):
        lines.append(process.stdout.readline())
        assert lines[-1], process.communicate(timeout=DEADLINE_S)
    process.send_signal(number)
    rest, said = process.communicate(timeout=DEADLINE_S)
    assert (process.returncode, rest, said) == (0, "ended\n", "")
    shapes = [
        r"cluster \S{22}, metadata in memory:, controller 101",
        r"clients begin at  127\.0\.0\.1:\d+",
        r"broker 1          127\.0\.0\.1:\d+, rack a",
        r"broker 2          127\.0\.0\.1:\d+, rack b",
        r"status            http://127\.0\.0\.1:\d+/",
        r"ready; .*",
    ]
    assert len(lines) == len(shapes)
    for line, shape in zip(lines, shapes, strict=True):
        assert re.fullmatch(shape, line.strip()), line


@pytest.mark.slow
def test_metrics_and_status_are_served_and_nothing_else() -> None:
    with serving("--metrics", "127.0.0.1:0", "--topic", "orders:2") as at:
        metrics = get(at["metrics"])
        assert 'kafka_controller_kafkacontroller_globalpartitioncount{controller_id="101"} 2.0' in metrics
        assert 'broker_id="3"' in metrics
        assert at["cluster_id"] in get(f"{at['status']}status.json")
        assert get(at["status"]).startswith("<!doctype html>")
        with pytest.raises(HTTPError, match="404"):
            get(f"{at['status']}page.html")


@pytest.mark.slow
def test_clients_log_in_and_do_what_they_may(tmp_path: Path) -> None:
    users, rights = tmp_path / "users.json", tmp_path / "acls.json"
    users.write_text(json.dumps({"version": 1, "users": {name: salted("secret") for name in ("root", "nobody")}}))
    rights.write_text(json.dumps({"version": 1, "super_users": ["User:root"]}))

    def topics(bootstrap: str, name: str) -> list[str]:
        login = {"sasl_plain_username": name, "sasl_plain_password": "secret", "sasl_mechanism": "SCRAM-SHA-256"}
        with closing(
            kafka.KafkaAdminClient(bootstrap_servers=bootstrap, security_protocol="SASL_PLAINTEXT", **login)
        ) as admin:
            return list(admin.list_topics())

    with serving("--users", str(users), "--acls", str(rights), "--topic", "orders") as at:
        assert topics(at["bootstrap"], "root") == ["orders"]
        assert topics(at["bootstrap"], "nobody") == []
    with serving("--users", str(users), "--topic", "orders") as at:  # who is in may do everything
        assert topics(at["bootstrap"], "nobody") == ["orders"]


@pytest.mark.slow
def test_topics_and_the_id_of_the_cluster_outlive_the_process_in_a_file(tmp_path: Path) -> None:
    store = f"memory:{tmp_path / 'store'}"
    with serving("--store", store, "--topic", "orders:2") as first:
        pass
    with serving("--store", store, "--topic", "orders:7", "--topic", "bills") as second:
        with closing(kafka.KafkaAdminClient(bootstrap_servers=second["bootstrap"])) as admin:
            assert admin.describe_cluster()["cluster_id"] == first["cluster_id"]
        with closing(kafka.KafkaConsumer(bootstrap_servers=second["bootstrap"])) as consumer:
            assert {name: len(consumer.partitions_for_topic(name)) for name in consumer.topics()} == {
                "orders": 2,
                "bills": 1,
            }
    held = MemoryServer.load(tmp_path / "store").table.rows["/cluster/id"][0]
    assert first["cluster_id"].encode() in held


@pytest.mark.slow
def test_a_controller_without_brokers_is_served_too() -> None:
    with serving("--brokers", "0") as at:
        assert at["brokers"] == {}
        assert '"brokers":[]' in get(f"{at['status']}status.json")
