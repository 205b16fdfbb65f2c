"""What a gateway answers to stock Kafka brokers and their clients, and what their host sends; without a broker."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from kedge import NewTopic
from kedge.controller.cli.kafka.connecting import connected
from kedge.controller.cli.kafka.options import Endpoint as Servers
from kedge.controller.codec import keys
from kedge.controller.coordinators.partitions import partition_of
from kedge.controller.model.errors import ErrorCode
from kedge.controller.model.host import (
    HostResponse,
    LeaderAndIsrRequest,
    LivePeer,
    StopReplicaRequest,
    UpdateMetadataRequest,
)
from kedge.controller.model.values import Endpoint, TopicPartition
from kedge.controller.wire.calls import Address
from kedge.controller.wire.kafka import InternalTopics, KafkaHost, with_kafka_brokers
from kedge.stores.base import ABSENT, Corrupt, Put
from tests.kit.waiting import until
from tests.wire.served import RACKS, RawClient, Served

NODE = 101
NOT_COORDINATOR, STALE_BROKER_EPOCH, UNKNOWN, NO_COORDINATOR, INVALID = 16, 77, -1, 15, 42


@pytest.fixture
def served() -> Iterator[Served]:
    with Served(node_id=NODE, apis=with_kafka_brokers(), has_controller_node=True) as opened:
        yield opened


# --- the controller as a node


def test_clients_see_the_controller_as_a_node(served: Served, client: RawClient) -> None:
    """At the address that they began at, with a rack, since the brokers have racks."""
    answer = client.ask("Metadata", 9, topics=None)
    at = {node.node_id: (node.host, node.port, node.rack) for node in answer.brokers}
    assert set(at) == {NODE, *RACKS}
    assert at[NODE] == (served.address.host, served.address.port, "a")
    assert answer.controller_id == NODE
    described = client.ask("DescribeCluster", 0)
    assert {node.broker_id for node in described.brokers} == {NODE, *RACKS}
    assert described.controller_id == NODE


def test_the_controller_has_no_replicas_in_a_log_directory(client: RawClient) -> None:
    """One row without a replica: Java's tools take no row for a refusal."""
    (row,) = client.ask("DescribeLogDirs", 4, topics=None).results
    assert (row.error_code, row.log_dir, row.topics) == (0, "none", [])


def test_commands_do_not_take_the_controller_for_a_broker(served: Served) -> None:
    """Or plans would place replicas on it."""
    with connected(Servers(served.bootstrap)) as cluster:
        assert list(cluster.brokers()) == list(RACKS)


def test_the_controller_coordinates_nothing(client: RawClient) -> None:
    """Tools ask every node for its groups and transactions."""
    listed = client.ask("ListGroups", 5, states_filter=[], types_filter=[])
    assert (listed.error_code, listed.groups) == (0, [])
    fields = {"state_filters": [], "producer_id_filters": [], "duration_filter": -1}
    open_ones = client.ask("ListTransactions", 1, **fields)
    assert (open_ones.error_code, open_ones.transaction_states) == (0, [])


# --- producer ids


def allocate(served: Served, client: RawClient, broker: int, epoch: int | None = None) -> tuple[int, int, int]:
    given = served.controller.broker_epochs[broker] if epoch is None else epoch
    answer = client.ask("AllocateProducerIds", 0, broker_id=broker, broker_epoch=given)
    return answer.error_code, answer.producer_id_start, answer.producer_id_len


def test_each_broker_gets_a_block_of_its_own(served: Served, client: RawClient) -> None:
    assert allocate(served, client, 1) == (0, 0, 1000)
    assert allocate(served, client, 2) == (0, 1000, 1000)
    entry = served.store.get(keys.PRODUCER_IDS, timeout_s=5)
    assert entry is not None
    assert json.loads(entry.value) == {"version": 1, "broker": 2, "block_start": "1000", "block_end": "1999"}


def test_a_block_goes_on_behind_that_of_kafka(served: Served, client: RawClient) -> None:
    value = b'{"version":1,"broker":3,"block_start":"5000","block_end":"5999"}'
    served.store.commit([Put(keys.PRODUCER_IDS, value, ABSENT)], timeout_s=5)
    assert allocate(served, client, 1) == (0, 6000, 1000)


def test_an_older_broker_epoch_gets_no_block(served: Served, client: RawClient) -> None:
    assert allocate(served, client, 1, epoch=served.controller.broker_epochs[1] - 1)[0] == STALE_BROKER_EPOCH
    assert served.store.get(keys.PRODUCER_IDS, timeout_s=5) is None


@pytest.mark.parametrize("value", [b"{", b'{"broker":1,"block_start":"0","block_end":"9223372036854775807"}'])
def test_a_block_that_cannot_be_read_is_left_alone(served: Served, client: RawClient, value: bytes) -> None:
    served.store.commit([Put(keys.PRODUCER_IDS, value, ABSENT)], timeout_s=5)
    assert allocate(served, client, 1)[0] == UNKNOWN
    entry = served.store.get(keys.PRODUCER_IDS, timeout_s=5)
    assert entry is not None
    assert entry.value == value
    with pytest.raises(Corrupt, match=keys.PRODUCER_IDS):
        served.controller.allocate_producer_ids(1)


def test_blocks_that_are_allocated_at_once_do_not_overlap(served: Served) -> None:
    with ThreadPoolExecutor(8) as pool:
        blocks = list(pool.map(served.controller.allocate_producer_ids, [1] * 40))
    assert sorted(block.start for block in blocks) == list(range(0, 40_000, 1000))


def test_producers_get_ids_of_their_own(served: Served, client: RawClient) -> None:
    asked = {"transactional_id": None, "transaction_timeout_ms": 60_000}
    ids = [client.ask("InitProducerId", 4, **asked).producer_id for _ in range(3)]
    assert ids == [0, 1, 2]
    assert allocate(served, client, 1)[1] == 1000


def test_a_transaction_is_sent_to_its_coordinator(client: RawClient) -> None:
    asked = {"transactional_id": "t", "transaction_timeout_ms": 60_000}
    answer = client.ask("InitProducerId", 4, **asked)
    assert (answer.error_code, answer.producer_id) == (NOT_COORDINATOR, -1)


# --- coordinators


def coordinator(client: RawClient, key: str, kind: int = 0) -> Any:
    answer = client.ask("FindCoordinator", 4, key_type=kind, coordinator_keys=[key])
    return answer.coordinators[0]


def test_a_group_is_coordinated_by_the_leader_of_its_partition(served: Served, client: RawClient) -> None:
    assert coordinator(client, "g").error_code == NO_COORDINATOR
    topic = NewTopic(replica_assignments=[(1,), (2,), (3,), (1,)])
    served.controller.admin.create_topics({"__consumer_offsets": topic}).all().result(30)
    for key in ("g", "orders", "ä", "€😀"):
        found = coordinator(client, key)
        assert found.node_id == (1, 2, 3, 1)[partition_of(key, 4)]
        assert (found.error_code, found.key) == (0, key)
    old = client.ask("FindCoordinator", 2, key="g", key_type=0)
    assert old.node_id == coordinator(client, "g").node_id
    assert coordinator(client, "t", kind=1).error_code == NO_COORDINATOR
    assert coordinator(client, "t", kind=2).error_code == INVALID


@pytest.mark.parametrize(
    "key, hashed",
    [("", 0), ("g", 103), ("orders", 1008770331), ("polygenelubricants", 0), ("😀", 1772899), ("é", 233)],
)
def test_partitions_are_chosen_by_javas_hash(key: str, hashed: int) -> None:
    """`String.hashCode` of Java 17, as absolute value; that of "polygenelubricants" is the one whose absolute value
    does not exist."""
    assert partition_of(key, 2**31) == hashed


# --- what brokers are sent


def peers(*ids: int) -> tuple[LivePeer, ...]:
    return tuple(LivePeer(b, "127.0.0.1", 9092 + b, "abc"[b - 1], (Endpoint("P", "127.0.0.1", 9092 + b),)) for b in ids)


def leader_and_isr(epoch: int = 1, live: tuple[LivePeer, ...] = peers(1, 2)) -> LeaderAndIsrRequest:
    return LeaderAndIsrRequest(1, 7, NODE, epoch, False, (), live)


class Recorded:
    """Brokers that take everything. `requests`: in their order."""

    def __init__(self, known: Iterable[TopicPartition] = ()) -> None:
        self.requests: list[Any] = []
        self._errors = dict.fromkeys(known, ErrorCode.STALE_CONTROLLER_EPOCH)

    def leader_and_isr(self, request: LeaderAndIsrRequest) -> HostResponse:
        self.requests.append(request)
        return HostResponse(errors=self._errors)

    def update_metadata(self, request: UpdateMetadataRequest | StopReplicaRequest) -> HostResponse:
        self.requests.append(request)
        return HostResponse()

    stop_replica = update_metadata


def host_of(served: Served, brokers: Recorded) -> KafkaHost:
    host = KafkaHost(brokers, internal_topics=InternalTopics(3, 3, 3), listener="P")
    host.attach(served.controller)
    host.serves_at(Address("127.0.0.1", 9999))
    return host


def test_broker_hears_of_live_brokers_before_leaders(served: Served) -> None:
    """Once for the same brokers; again when they change, and after a takeover."""
    brokers = Recorded()
    host = host_of(served, brokers)
    for request in (leader_and_isr(), leader_and_isr(), leader_and_isr(live=peers(1, 2, 3)), leader_and_isr(epoch=2)):
        host.leader_and_isr(request)
    kinds = [type(request).__name__.removesuffix("Request") for request in brokers.requests]
    assert kinds == [
        "UpdateMetadata", "LeaderAndIsr", "LeaderAndIsr", "UpdateMetadata", "LeaderAndIsr", "UpdateMetadata",
        "LeaderAndIsr",
    ]  # fmt: skip


def test_brokers_see_the_controller_once_internal_topics_exist(served: Served) -> None:
    """They are created when three brokers live, with Kafka's settings."""
    brokers = Recorded()
    host = host_of(served, brokers)
    host.leader_and_isr(leader_and_isr())
    assert [peer.broker_id for peer in brokers.requests[0].live_brokers] == [1, 2]
    assert served.controller.admin.list_topics().result(30) == {}
    update = UpdateMetadataRequest(1, 7, NODE, 1, False, peers(1, 2, 3), ())
    host.update_metadata(update)
    names = ("__consumer_offsets", "__transaction_state")
    until(lambda: set(served.controller.admin.list_topics().result(30)) == set(names))
    host.update_metadata(update)
    *_, node = brokers.requests[-1].live_brokers
    assert (node.broker_id, node.rack) == (NODE, "a")
    assert node.endpoints == (Endpoint("P", "127.0.0.1", 9999),)
    found = served.controller.admin.describe_topics(names).all().result(30)
    assert {len(partition.replicas) for topic in found.values() for partition in topic.partitions} == {3}


def test_internal_topics_that_exist_are_left_alone(served: Served) -> None:
    topics = {name: NewTopic(1, 1) for name in ("__consumer_offsets", "__transaction_state")}
    served.controller.admin.create_topics(topics).all().result(30)
    brokers = Recorded()
    host_of(served, brokers).leader_and_isr(leader_and_isr())
    assert [peer.broker_id for peer in brokers.requests[0].live_brokers] == [1, 2, NODE]


def test_a_known_leader_epoch_is_no_error(served: Served) -> None:
    """Brokers answer so for what they know already, after each takeover."""
    known = TopicPartition("t", 0)
    answer = host_of(served, Recorded([known])).leader_and_isr(leader_and_isr())
    assert (answer.error, dict(answer.errors)) == (ErrorCode.NONE, {})
