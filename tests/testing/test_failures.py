"""What a test orders of brokers and requests, on both clusters: it happens to clients, and ends."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Final

import confluent_kafka as ck
import pytest

from kedge.testing import Cluster, Server
from tests.kit.waiting import until
from tests.testing.test_stock_clients import TIMEOUT_S, read, sent

pytestmark = pytest.mark.checklist(268)

API_VERSIONS: Final = bytes.fromhex("0000000f 0012 0000 00000007 0005 616c696365")
"""Version 0, correlation id 7, of a client named alice."""
Kind = Callable[[], Cluster | Server]


@pytest.fixture(params=[Cluster, pytest.param(Server, marks=pytest.mark.slow)], ids=["cluster", "server"])
def cluster(request: pytest.FixtureRequest) -> Iterator[Cluster | Server]:
    with request.param() as opened:
        opened.create_topic("orders", 3)
        yield opened


def connect(at: str) -> socket.socket:
    host, port = at.split(":")
    return socket.create_connection((host, int(port)), timeout=TIMEOUT_S)


def answers(client: socket.socket) -> bool:
    """Whether a request is answered."""
    client.sendall(API_VERSIONS)
    head = client.recv(8)
    return len(head) == 8 and head[4:] == bytes((0, 0, 0, 7)) and bool(client.recv(1 << 16))


def is_cut_off(client: socket.socket) -> bool:
    try:
        return client.recv(1) == b""
    except ConnectionResetError:
        return True


def test_killed_broker_has_no_connections_until_it_is_back_at_its_address(cluster: Cluster | Server) -> None:
    at = cluster.address(2)
    with connect(at) as client, connect(cluster.address(1)) as other:
        assert answers(client)
        cluster.kill_broker(2)
        assert is_cut_off(client)
        assert answers(other)
    with pytest.raises(ConnectionRefusedError):
        connect(at)
    with closing(socket.socket()) as another:
        another.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        with pytest.raises(OSError, match="Address already in use"):
            another.bind(("127.0.0.1", int(at.split(":")[1])))
    cluster.kill_broker(2)
    cluster.start_broker(2)
    assert cluster.address(2) == at
    with connect(at) as client:
        assert answers(client)
    until(lambda: 2 in cluster.isr("orders"))


def test_paused_broker_takes_connections_and_answers_when_it_goes_on(cluster: Cluster | Server) -> None:
    with connect(cluster.address(2)) as before:
        assert answers(before)
        cluster.pause_broker(2)
        with connect(cluster.address(2)) as client, connect(cluster.address(1)) as other:
            assert answers(other)  # so those of broker 2, which were sent before, would be answered as well
            for silent in (before, client):
                silent.sendall(API_VERSIONS)
                silent.settimeout(0.2)
                with pytest.raises(TimeoutError):
                    silent.recv(1)
            cluster.resume_broker(2)
            for silent in (before, client):
                silent.settimeout(TIMEOUT_S)
                assert silent.recv(8)[4:] == bytes((0, 0, 0, 7))


def test_paused_broker_that_is_killed_and_started_answers(cluster: Cluster | Server) -> None:
    cluster.pause_broker(1)
    cluster.kill_broker(1)
    cluster.start_broker(1)
    with connect(cluster.address(1)) as client:
        assert answers(client)
    cluster.pause_broker(1)
    cluster.start_broker(1)
    with connect(cluster.address(1)) as client:
        assert answers(client)


def test_producer_goes_on_after_its_leader_died(cluster: Cluster | Server) -> None:
    producer = ck.Producer({"bootstrap.servers": cluster.bootstrap_servers, "log_level": 0})
    errors: list[object] = []
    for value in (b"before", b"after"):
        producer.produce("orders", value, partition=0, on_delivery=lambda error, _: errors.append(error))
        assert producer.flush(TIMEOUT_S) == 0
        if value == b"before":
            leader = cluster.leader("orders")
            assert leader is not None
            cluster.kill_broker(leader)
    assert (errors, read(cluster)) == ([None, None], [b"before", b"after"])


@pytest.mark.parametrize("error,stored", [(None, [b"one", b"one"]), ("NOT_LEADER_OR_FOLLOWER", [b"one"])])
def test_connection_is_dropped_after_the_request_or_in_place_of_it(
    cluster: Cluster | Server, error: str | None, stored: list[bytes]
) -> None:
    """A producer that is not idempotent sends again, and stores a record twice if the first request was served."""
    fault = cluster.fail_next("Produce", error, disconnect=True)
    assert sent(cluster, b"one", **{"enable.idempotence": False, "retry.backoff.ms": 10}) == [None]
    assert (fault.left, read(cluster)) == (0, stored)


def test_idempotent_producer_stores_once_what_got_no_answer(cluster: Cluster | Server) -> None:
    fault = cluster.fail_next("Produce", disconnect=True, count=2)
    assert sent(cluster, b"one", **{"enable.idempotence": True, "retry.backoff.ms": 10}) == [None]
    assert (fault.left, read(cluster)) == (0, [b"one"])


def test_what_cannot_be_ordered_is_said(cluster: Cluster | Server) -> None:
    with pytest.raises(ValueError, match="expected an error, disconnect=True, or both"):
        cluster.fail_next("Produce")
    with pytest.raises(ValueError, match=r"no API 'Product' is served, only: .*Produce"):
        cluster.requests("Product")
    for wrong in (1.5, float("nan"), True):
        with pytest.raises(ValueError, match="count: expected at least 1"):
            cluster.fail_next("Produce", "NOT_LEADER_OR_FOLLOWER", wrong)  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="error: expected the number of an error"):
            cluster.fail_next("Produce", wrong)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="delay_ms: expected at least 0, got nan"):
        cluster.slow(1, float("nan"))


def test_requests_are_counted_by_client_and_broker(cluster: Cluster | Server) -> None:
    leader = cluster.leader("orders", 1)
    for client in ("alice", "bob", "bob"):
        assert sent(cluster, b"x", partition=1, **{"client.id": client}) == [None]
    found = cluster.requests("Produce")
    assert (found.count, found.by_client, found.by_broker) == (3, {"alice": 1, "bob": 2}, {leader: 3})
    (topic,) = found.last[0].body["topic_data"]
    assert [row["index"] for row in topic["partition_data"]] == [1]
    assert [(one.client, one.broker, one.principal) for one in found.last] == [
        (client, leader, "User:ANONYMOUS") for client in ("alice", "bob", "bob")
    ]
    assert cluster.requests("DeleteTopics").count == 0
    with connect(cluster.address(3)) as raw:
        for _ in range(30):
            assert answers(raw)
    versions = cluster.requests("ApiVersions")
    assert versions.by_broker[3] >= 30
    assert len(versions.last) == 20


def test_cluster_out_of_its_block_says_so() -> None:
    for kind in (Cluster, Server):
        outside = kind()
        with pytest.raises(RuntimeError, match="does not run: use it within its `with` block"):
            outside.leader("orders")
    with Cluster() as cluster:
        with pytest.raises(RuntimeError, match="a Cluster is used once"), cluster:
            pytest.fail("it started twice")
        assert cluster.requests("Produce").count == 0
    with pytest.raises(RuntimeError, match="does not run"):
        cluster.wait_until(lambda: True, "x")


@pytest.mark.slow
def test_calls_into_another_process_wait_for_each_other_only_where_they_must() -> None:
    """A call that waits for a paused broker ends once another thread lets that go on. An argument that cannot be sent
    is an error of its call alone; a process that ended is one of every call."""
    with Server(2) as server, ThreadPoolExecutor(1) as pool:
        server.pause_broker(2)
        creating = pool.submit(server.create_topic, "orders", 2, 2)
        server.resume_broker(2)
        creating.result(TIMEOUT_S)
        with pytest.raises(Exception, match="pickle"):
            server.kill_broker(lambda: 2)  # type: ignore[arg-type]
        assert server.leader("orders") in {1, 2}
        command = ["pgrep", "-P", str(os.getpid()), "-f", "kedge serve"]
        os.kill(int(subprocess.check_output(command, text=True)), signal.SIGKILL)
        with pytest.raises(RuntimeError, match="the process of `kedge serve` has ended: exit code -9"):
            until(lambda: server.leader("orders") is None)


def test_what_is_not_there_in_time_is_named_with_the_brokers_that_are_down(cluster: Cluster | Server) -> None:
    cluster.wait_until(lambda: cluster.isr("orders") == cluster.replicas("orders"), "all are in sync")
    cluster.kill_broker(3)
    cluster.pause_broker(1)
    said = "not within 0.1 s: 3 is in sync; brokers 1, 3 are down"
    with pytest.raises(TimeoutError, match=said):
        cluster.wait_until(lambda: False, "3 is in sync", 0.1)
