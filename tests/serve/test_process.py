"""`kedge serve` as a process, and stock clients of it."""

from __future__ import annotations

import json
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import urllib.request
from contextlib import ExitStack, closing
from pathlib import Path
from urllib.error import HTTPError
from uuid import uuid4

import kafka
import pytest
from kafka.admin import NewTopic

from kedge.controller.cli.serve import options_of, serve
from kedge.controller.cli.serve.running import running as running_here
from kedge.controller.wire.security.users import salted
from kedge.stores import MemoryServer
from tests.cli.store.places import Make, on_servers
from tests.kit.private import write_private
from tests.kit.waiting import until
from tests.serve.processes import ANYTHING, DEADLINE_S, begun, refuses_orders, serving
from tests.wire.certificates import Authority
from tests.wire.remote import Process
from tests.wire.served import RawClient


def get(url: str) -> str:
    with urllib.request.urlopen(url, timeout=DEADLINE_S) as answer:  # noqa: S310 - ours
        return str(answer.read().decode())


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_prints_what_listens_where_and_ends_by_a_signal(number: signal.Signals) -> None:
    process = begun("--listen", "127.0.0.1:0", "--status", "127.0.0.1:0", "--racks", "a,b", "--broker-count", "2")
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
        r"bootstrap server  127\.0\.0\.1:\d+",
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
        host, port = at["bootstrap"].rsplit(":", 1)
        with socket.create_connection((host, int(port)), DEADLINE_S) as connection:
            connection.sendall(b"GET / HTTP/1.1\r\n\r\n")
            assert connection.recv(1) == b""
        client = kafka.KafkaAdminClient(bootstrap_servers=at["bootstrap"])
        client.close()
        metrics = get(at["metrics"])
        assert re.search(
            r'kedge_wire_gateway_events_total\{controller_id="101",kind="(garbage|too_large)"\} 1\.0', metrics
        )
        assert re.search(r'kedge_wire_gateway_requests_total\{controller_id="101",request="Metadata"\} [1-9]', metrics)
        assert re.search(r'kedge_wire_gateway_connections_total\{controller_id="101"\} [2-9]', metrics)
        assert at["cluster_id"] in get(f"{at['status']}status.json")
        assert get(at["status"]).startswith("<!doctype html>")
        with pytest.raises(HTTPError, match="404"):
            get(f"{at['status']}page.html")


@pytest.mark.slow
def test_who_listens_at_every_address_tells_clients_the_host_that_they_call() -> None:
    """Of all that a client hears: what is printed, the brokers in Metadata."""
    with serving("--listen", "0.0.0.0:0", "--allow-anonymous", "--advertise", "localhost") as at:
        places = [at["bootstrap"], *at["brokers"].values()]
        assert {place.rpartition(":")[0] for place in places} == {"localhost"}
        with closing(kafka.KafkaAdminClient(bootstrap_servers=at["bootstrap"])) as admin:
            told = {f"{broker['host']}:{broker['port']}" for broker in admin.describe_cluster()["brokers"]}
        assert told == set(at["brokers"].values())


@pytest.mark.slow
def test_brokers_of_a_process_without_the_store_take_no_orders() -> None:
    """What cannot be a partition comes nowhere near a broker, and producers go on."""
    with serving("--topic", "orders") as at:
        refuses_orders(at["brokers"]["1"])
        with closing(kafka.KafkaProducer(bootstrap_servers=at["bootstrap"], acks="all")) as producer:
            assert producer.send("orders", b"x", partition=0).get(DEADLINE_S).offset == 0


@pytest.mark.slow
def test_clients_log_in_and_do_what_they_may(tmp_path: Path) -> None:
    users, rights = tmp_path / "users.json", tmp_path / "acls.json"
    write_private(users, json.dumps({"version": 1, "users": {name: salted("secret") for name in ("root", "nobody")}}))
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
def test_wrong_login_is_reported_on_the_status_page_and_on_stderr(tmp_path: Path) -> None:
    users = tmp_path / "users.json"
    write_private(users, json.dumps({"version": 1, "users": {"root": salted("secret")}}))
    with serving("--users", str(users), may_say="a login as 'root' from 127.0.0.1 is refused: .*") as at:
        login = {"sasl_plain_username": "root", "sasl_plain_password": "wrong", "sasl_mechanism": "SCRAM-SHA-512"}
        login |= {"security_protocol": "SASL_PLAINTEXT", "bootstrap_servers": at["bootstrap"]}
        with pytest.raises(kafka.errors.KafkaError):
            kafka.KafkaAdminClient(**login, bootstrap_timeout_ms=5_000)
        until(lambda: json.loads(get(f"{at['status']}status.json"))["events"].get("login_refused", 0) > 0)


@pytest.mark.slow
def test_remote_brokers_are_called_by_tls_where_the_process_has_a_certificate(tmp_path: Path) -> None:
    """Also on a store that no other process shares: a registration cannot choose a weaker protocol."""
    authority = Authority(tmp_path)
    signed = authority.sign("gateway")
    words = ["--listen", "127.0.0.1:0", "--no-status", "--broker-count", "0", "--peers-ca", str(authority.file)]
    words += ["--tls-certificate", str(signed.certificate), "--tls-key", str(signed.key)]
    trusting = ssl.create_default_context(cafile=str(authority.file))
    trusting.check_hostname = False
    with (
        running_here(options_of(**serve.make_context("serve", words).params)) as found,
        socket.create_server(("127.0.0.1", 0)) as broker,
        RawClient(found.bootstrap, trusting) as client,
    ):
        host, port = broker.getsockname()
        listener = {"name": "L", "host": host, "port": port, "security_protocol": 0}
        known = {"broker_id": 7, "cluster_id": found.cluster_id, "incarnation_id": uuid4(), "listeners": [listener]}
        assert client.ask("BrokerRegistration", 0, **known).error_code == 0
        of_broker = "callbacks of broker 7"
        until(lambda: of_broker in found.cluster.controller.describe().findings)
        problem = found.cluster.controller.describe().findings[of_broker]
        assert problem.endswith("broker 7 listens with PLAINTEXT, but this host calls brokers by TLS only")


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
    with serving("--broker-count", "0") as at:
        assert at["brokers"] == {}
        assert '"brokers":[]' in get(f"{at['status']}status.json")


@pytest.mark.server
@pytest.mark.slow
def test_brokers_of_other_processes_join_and_follow_orders() -> None:
    """Beside none of its own: the example of a remote broker leads and follows what is made by a client's request."""
    # At the end they are killed, which it may tell of.
    with serving("--broker-count", "0", may_say=ANYTHING) as at, ExitStack() as stack:
        brokers = [stack.enter_context(Process(i, at["bootstrap"], None, at["cluster_id"])) for i in (1, 2)]

        def live() -> set[int]:
            told = json.loads(get(f"{at['status']}status.json"))["brokers"]
            return {broker["id"] for broker in told if broker["is_live"]}

        until(lambda: live() == {1, 2})
        with closing(kafka.KafkaAdminClient(bootstrap_servers=at["bootstrap"])) as admin:
            admin.create_topics([NewTopic("orders", 1, 2)])
        until(lambda: any("leads orders 0 targets None" in broker.said() for broker in brokers))
        until(lambda: any("follows orders 0 targets None" in broker.said() for broker in brokers))


@on_servers
def test_on_a_real_store_the_cluster_is_found_again(make: Make, tmp_path: Path) -> None:
    """Topics and the id outlive the process; records are gone with it, and others are taken."""
    url = make(tmp_path)
    ids = []
    for _ in range(2):
        with serving("--store", url, "--topic", "orders:1:3") as at:
            ids.append(at["cluster_id"])
            with closing(kafka.KafkaProducer(bootstrap_servers=at["bootstrap"], acks="all")) as producer:
                assert producer.send("orders", b"x").get(DEADLINE_S).offset == 0
    assert ids[0] == ids[1]


@pytest.mark.slow
def test_a_file_that_cannot_be_written_at_the_end_is_one_line(tmp_path: Path) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    place = ("--listen", "127.0.0.1:0", "--no-status", "--broker-count", "0")
    process = begun("--json", *place, "--store", f"memory:{folder / 'tree'}")
    assert process.stdout is not None
    assert process.stdout.readline()
    shutil.rmtree(folder)
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=DEADLINE_S)
    why = "the last changes were not saved: No such file or directory"
    assert (process.returncode, said) == (2, f"kedge: memory:{folder / 'tree'}: {why}\n")


def has_ipv6() -> bool:
    """Whether something can listen on the loopback address of IPv6."""
    try:
        with socket.create_server(("::1", 0), family=socket.AF_INET6):
            return True
    except OSError:
        return False


@pytest.mark.slow
@pytest.mark.skipif(not has_ipv6(), reason="this machine has no loopback address of IPv6")
def test_a_server_on_ipv6_is_found_in_a_list_of_servers() -> None:
    with serving("--listen", "[::1]:0", "--status", "[::1]:0", "--topic", "orders:2:1") as at:
        assert at["bootstrap"].startswith("[::1]:")
        command = [
            sys.executable,
            "-m",
            "kedge",
            "kafka",
            "topics",
            "--bootstrap-server",
            f"127.0.0.1:1,{at['bootstrap']}",
            "--list",
        ]
        # In a process of its own: kafka-python leaves the socket to its collector that a server refused.
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "orders\n"), done.stderr
