"""A gateway as its clients see it, before they ask for anything to be done."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import closing

import pytest
from kafka.protocol.metadata.api_versions import ApiVersionsResponse

from kedge import NewTopic, WrongMode
from kedge.controller.codec import keys
from kedge.controller.codec.small import encode_gateway
from kedge.controller.wire import Gateway, Limits, Peers
from kedge.controller.wire.peers.directory import AlreadyRunning
from kedge.stores import MemoryServer, MemoryStore
from kedge.stores.base import ABSENT, Put
from tests.kit.waiting import until
from tests.wire.asking import ask, new_topic
from tests.wire.served import DEADLINE_S, RACKS, RawClient, Served


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with Served() as opened:
        for name, count in {"orders": 3, "bills": 1}.items():
            opened.controller.admin.create_topics({name: NewTopic(count, 3)}).all().result(30)
        yield opened


@pytest.mark.parametrize("version", range(5))
def test_every_version_of_api_versions_tells_of_every_api(client: RawClient, version: int) -> None:
    answer = client.ask("ApiVersions", version)
    offered = {row.api_key: (row.min_version, row.max_version) for row in answer.api_keys}
    assert answer.error_code == 0
    assert offered[18] == (0, 4)
    assert offered[3] == (0, 13)


def test_a_newer_api_versions_is_answered_in_the_form_of_version_0(client: RawClient) -> None:
    client.send(struct.pack(">ihhih", 10, 18, 5, 77, -1))
    answer = client.receive()
    assert answer is not None
    assert struct.unpack(">ih", answer[:6]) == (77, 35)
    decoded = ApiVersionsResponse.decode(answer, version=0, header=True)
    assert any(row.api_key == 18 and row.max_version == 4 for row in decoded.api_keys)
    assert client.ask("ApiVersions", 4).error_code == 0  # on the same connection


@pytest.mark.parametrize("version", range(14))
def test_metadata_tells_brokers_with_racks_and_topics_in_every_version(client: RawClient, version: int) -> None:
    topics = [{"name": "orders", "topic_id": None}, {"name": "none", "topic_id": None}]
    answer = client.ask("Metadata", version, topics=topics)
    if version >= 1:
        assert {b.node_id: b.rack for b in answer.brokers} == RACKS
        assert answer.controller_id in RACKS
    if version >= 2:
        assert answer.cluster_id == "kedge-under-test"
    found = {topic.name: topic for topic in answer.topics}
    assert found["none"].error_code == 3
    assert [p.partition_index for p in found["orders"].partitions] == [0, 1, 2]
    for partition in found["orders"].partitions:
        assert sorted(partition.replica_nodes) == [1, 2, 3]
        assert partition.leader_id == partition.replica_nodes[0]


def test_metadata_of_all_topics_of_none_and_by_id(client: RawClient) -> None:
    everything = client.ask("Metadata", 12, topics=None)
    assert [topic.name for topic in everything.topics] == ["bills", "orders"]
    assert client.ask("Metadata", 12, topics=[]).topics == []
    assert len(client.ask("Metadata", 0, topics=[]).topics) == 2
    unnamed = (None, "")  # Java's clients send an empty name
    asked = [{"name": name, "topic_id": t.topic_id} for name, t in zip(unnamed, everything.topics, strict=True)]
    assert {t.name for t in client.ask("Metadata", 12, topics=asked).topics} == {
        "bills",
        "orders",
    }
    stranger = {"name": None, "topic_id": "00000000-0000-0000-0000-000000000001"}
    assert client.ask("Metadata", 12, topics=[stranger]).topics[0].error_code == 100


def test_each_broker_id_has_an_address_of_its_own_that_serves_everything(served: Served, client: RawClient) -> None:
    brokers = client.ask("DescribeCluster", 1).brokers
    assert len({broker.port for broker in brokers} | {served.address.port}) == 4
    for broker in brokers:
        with RawClient(broker) as there:
            assert {b.port for b in there.ask("Metadata", 12, topics=[]).brokers} == {b.port for b in brokers}


@pytest.mark.parametrize(
    "limit, pages",
    [
        (1, [{"bills": [0]}, {"orders": [0]}, {"orders": [1]}, {"orders": [2]}]),
        (2, [{"bills": [0], "orders": [0]}, {"orders": [1, 2]}]),
        (3, [{"bills": [0], "orders": [0, 1]}, {"orders": [2]}]),
        (4, [{"bills": [0], "orders": [0, 1, 2]}]),
    ],
)
def test_partitions_of_topics_come_in_pages(client: RawClient, limit: int, pages: list[dict[str, list[int]]]) -> None:
    """A page that ends with a topic does not name the next one."""
    names = [{"name": "orders"}, {"name": "bills"}]
    seen, cursor = [], None
    for _ in range(2 * len(pages)):
        answer = client.ask("DescribeTopicPartitions", 0, topics=names, response_partition_limit=limit, cursor=cursor)
        seen.append({topic.name: [p.partition_index for p in topic.partitions] for topic in answer.topics})
        if answer.next_cursor is None:
            break
        cursor = {"topic_name": answer.next_cursor.topic_name, "partition_index": answer.next_cursor.partition_index}
    assert seen == pages
    whole = client.ask("DescribeTopicPartitions", 0, topics=[*names, {"name": "none"}], response_partition_limit=2000)
    assert {topic.name: topic.error_code for topic in whole.topics} == {"orders": 0, "bills": 0, "none": 3}


@pytest.mark.parametrize("version", range(5))
def test_there_is_no_coordinator_of_groups(client: RawClient, version: int) -> None:
    asked = {"coordinator_keys": ["g"]} if version >= 4 else {"key": "g"}
    answer = client.ask("FindCoordinator", version, **asked)
    assert (answer.coordinators[0] if version >= 4 else answer).error_code == 15


@pytest.mark.parametrize(
    "frame, kind",
    [
        (b"\xff\xff\xff\xff", "garbage"),
        (struct.pack(">i", 2**31 - 1), "too_large"),
        (struct.pack(">i", 3) + b"abc", "garbage"),
        (struct.pack(">ihhih", 10, 9999, 0, 1, -1), "unknown_api"),
        (struct.pack(">ihhih", 10, 3, 99, 1, -1), "unknown_api"),
        (struct.pack(">ihhihi", 14, 3, 1, 1, -1, 2**31 - 1), "garbage"),
        (struct.pack(">ih", 1000, 18), "garbage"),
    ],
)
def test_garbage_closes_that_one_connection_and_is_counted(
    served: Served, client: RawClient, frame: bytes, kind: str
) -> None:
    before = served.gateway.counts[kind]
    with RawClient(served.address) as other:
        other.send(frame)
        other.hang_up()
        assert other.receive() is None
    until(lambda: served.gateway.counts[kind] == before + 1)
    assert client.ask("ApiVersions", 4).error_code == 0


def test_a_gateway_is_started_once_and_its_address_is_free_again_when_it_is_closed() -> None:
    with Served() as served:
        address = served.address
        with pytest.raises(WrongMode):
            served.gateway.start()
        with pytest.raises(OSError, match="in use"):
            Gateway(served.controller, port=address.port).start()
    with Served(port=address.port) as again:
        assert again.address == address


def test_connections_beyond_the_limit_are_hung_up_on() -> None:
    with Served(limits=Limits(connections=2)) as served:
        with RawClient(served.address) as one, RawClient(served.address) as two:
            for client in (one, two):
                assert client.ask("ApiVersions", 4).error_code == 0
            with RawClient(served.address) as three:
                assert three.receive() is None
        assert served.gateway.counts["too_many"] == 1


def test_limits_are_positive() -> None:
    with pytest.raises(ValueError, match="request_bytes must be an int of at least 1"):
        Limits(request_bytes=0)


@pytest.mark.parametrize("step", ["it could not listen", "its id was taken"])
def test_gateway_that_failed_to_start_is_started_later(step: str) -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as other,
        Served() as served,
        closing(MemoryStore(served.server)) as session,
        closing(MemoryStore(served.server)) as second,
    ):
        port = other.getsockname()[1]
        if step == "it could not listen":
            gateway = Gateway(served.controller, port=port)
        else:
            gateway = Gateway(served.controller, peers=Peers(store=session))
            taken = Put(keys.gateway(1), encode_gateway("127.0.0.1", port), ABSENT, ephemeral=True)
            second.commit([taken], timeout_s=DEADLINE_S)
        with other, pytest.raises((OSError, AlreadyRunning)):
            gateway.start()
        with gateway:
            assert gateway.addresses([1]).keys() == {1}


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
        while client.ask("ApiVersions", 4):
            pass


@pytest.mark.slow
@pytest.mark.parametrize("has_peers", [False, True])
def test_metadata_request_is_cut_off_while_the_store_is_silent(has_peers: bool) -> None:
    """Metadata has no place for an error, and clients take one without brokers for that of an empty cluster, so its
    connection is closed."""
    server = MemoryServer(session_timeout_s=0.5)
    with closing(MemoryStore(server)) as finding:
        peers = Peers(store=finding) if has_peers else None
        with Served(server=server, peers=peers) as served, RawClient(served.address) as client:
            served.store.disconnect()
            until(lambda: served.controller.is_cut_off)
            created = ask(client, "CreateTopics", 7, topics=[new_topic("orders", 1, 1)], validate_only=False)
            moves = ask(client, "ListPartitionReassignments", 0, topics=None)
            for answer in (*created.topics, client.ask("DescribeCluster", 0), moves):
                assert answer.error_code == 41
                assert answer.error_message == "no controller is active; its store does not answer"
            with RawClient(served.address) as other, pytest.raises(AssertionError, match="hung up"):
                other.ask("Metadata", 12, topics=None)
            served.store.reconnect()
            until(lambda: served.controller.is_active)
            assert client.ask("DescribeCluster", 0).error_code == 0
