"""What a controller orders, as bytes that a broker of each version reads, and there and back by the wire."""

from __future__ import annotations

import argparse
import asyncio
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples.remote.broker import Broker
from kedge.controller.model.errors import ErrorCode
from kedge.controller.model.host import (
    LeaderAndIsrPartition,
    LeaderAndIsrRequest,
    LivePeer,
    PartitionMetadata,
    StopReplicaPartition,
    StopReplicaRequest,
    UpdateMetadataRequest,
)
from kedge.controller.model.values import Endpoint, TopicPartition
from kedge.controller.wire import messages as m
from kedge.controller.wire.protocol import build
from kedge.controller.wire.reading import as_uuid
from kedge.controller.wire.remote import orders, received

ID = "AAECAwQFBgcICQoLDA0ODw"
MOVING = LeaderAndIsrPartition("foo", ID, 2, 4, 9, (4, 5), 11, (4, 5), (6, 5), True, -1, 1)
IDLE = attrs.evolve(MOVING, partition=3, target_replicas=None, is_new=False, status_code=0, leader_recovery_state=0)
PEERS = (
    LivePeer(4, "h4", 9092, "r1", (Endpoint("IN", "i4", 9093, "SSL"), Endpoint("OUT", "o4", 9094, "SASL_SSL"))),
    LivePeer(5, "h5", 9092, None),
)
TOLD = LeaderAndIsrRequest(5, 77, 1, 3, False, (MOVING, IDLE), PEERS)


def read(kind: Any, version: int, fields: dict[str, Any]) -> Any:
    """What a broker reads."""
    return kind.decode(bytes(build(kind, version, fields).encode()), version=version)


def members(version: int, request: LeaderAndIsrRequest = TOLD) -> list[Any]:
    order = read(m.LeaderAndIsrRequest, version, orders.leader_and_isr(request, version))
    if version < 2:
        return list(order.ungrouped_partition_states)
    [topic] = order.topic_states
    return list(topic.partition_states)


@pytest.mark.checklist(98)
@pytest.mark.parametrize("version", range(3))
def test_peer_of_version_2_or_less_gets_no_move(version: int) -> None:
    moving, idle = members(version)
    assert list(moving.replicas) == list(idle.replicas) == [4, 5]
    assert (list(moving.isr), moving.leader, moving.leader_epoch, moving.partition_epoch) == ([4, 5], 4, 9, 11)


@pytest.mark.parametrize("version", range(3, 8))
def test_peer_of_version_3_gets_adding_and_removing_replicas_as_from_kafka(version: int) -> None:
    moving, idle = members(version)
    assert [moving.replicas, moving.adding_replicas, moving.removing_replicas] == [[4, 5, 6], [6], [4]]
    assert [idle.replicas, idle.adding_replicas, idle.removing_replicas] == [[4, 5], [], []]


@pytest.mark.checklist(98)
@pytest.mark.parametrize("version", range(4, 8))
def test_target_replicas_are_null_when_idle_and_in_their_order_while_moving(version: int) -> None:
    moving, idle = members(version)
    assert (moving.target_replicas, moving.status_code) == ([6, 5], -1)
    assert (idle.target_replicas, idle.status_code) == (None, 0)


@pytest.mark.parametrize("version", range(8))
def test_leader_and_isr_says_who_orders_and_who_lives(version: int) -> None:
    for full, number in {True: 2, False: 1}.items():
        request = attrs.evolve(TOLD, full=full)
        order = read(m.LeaderAndIsrRequest, version, orders.leader_and_isr(request, version))
        assert (order.controller_id, order.controller_epoch) == (1, 3)
        assert order.broker_epoch == (77 if version >= 2 else -1)
        assert order.request_type == (number if version >= 5 else 0)
        assert [(p.broker_id, p.host_name, p.port) for p in order.live_leaders] == [(4, "h4", 9092), (5, "h5", 9092)]
        if version >= 5:
            assert order.topic_states[0].topic_id == as_uuid(ID)
    assert [each.is_new for each in members(version)] == [version >= 1, False]
    assert [each.leader_recovery_state for each in members(version)] == [1 if version >= 6 else 0, 0]


@pytest.mark.checklist(134, 137, 138)
@pytest.mark.parametrize("version", range(9))
def test_update_metadata_has_what_every_client_may_know(version: int) -> None:
    known = PartitionMetadata("foo", ID, 2, 4, 9, (4,), 11, (4, 5), (5,), -1)
    request = UpdateMetadataRequest(5, 77, 1, 3, True, PEERS, (known,))
    order = read(m.UpdateMetadataRequest, version, orders.update_metadata(request, version))
    [state] = order.topic_states[0].partition_states if version >= 5 else order.ungrouped_partition_states
    assert (state.partition_index, state.leader, state.leader_epoch, state.zk_version) == (2, 4, 9, 11)
    assert (state.isr, state.replicas) == ([4], [4, 5])
    assert state.offline_replicas == ([5] if version >= 4 else [])
    assert state.status_code == (-1 if version >= 6 else 0)
    assert order.request_type == (2 if version >= 8 else 0)
    first, second = order.live_brokers
    if version == 0:
        assert (first.v0_host, first.v0_port) == ("h4", 9092)
    else:
        assert [(e.host, e.port, e.security_protocol) for e in first.endpoints] == [("i4", 9093, 1), ("o4", 9094, 3)]
        assert [(e.host, e.port, e.security_protocol) for e in second.endpoints] == [("h5", 9092, 0)]
    assert (first.rack, second.rack) == (("r1" if version >= 2 else None), None)


@pytest.mark.parametrize("version", range(5))
def test_stop_replica_deletes_what_is_to_be_deleted_and_stops_the_rest(version: int) -> None:
    partitions = tuple(StopReplicaPartition("foo", ID, p, 9, delete=p < 2) for p in range(3))
    request = StopReplicaRequest(5, 77, 1, 3, partitions)
    found = []
    for fields in orders.stop_replica(request, version):
        order = read(m.StopReplicaRequest, version, fields)
        if version >= 3:
            [topic] = order.topic_states
            assert topic.topic_id == as_uuid(ID)
            assert {p.leader_epoch for p in topic.partition_states} == {9}
            found += [(p.partition_index, p.delete_partition) for p in topic.partition_states]
        elif version >= 1:
            [topic] = order.topics
            found += [(p, order.delete_partitions) for p in topic.partition_indexes]
        else:
            found += [(p.partition_index, order.delete_partitions) for p in order.ungrouped_partitions]
    assert found == [(0, True), (1, True), (2, False)]


@pytest.mark.parametrize("leader_epoch, answer, kept", [(8, [("foo", 2, 74)], True), (9, [], False)])
def test_example_of_a_remote_broker_skips_no_deletion_in_silence(
    leader_epoch: int, answer: list[tuple[str, int, int]], kept: bool
) -> None:
    """Its partition has the leader epoch 9. A deletion without an error would count as acknowledged."""
    broker = Broker(argparse.Namespace(id=5, gateway="127.0.0.1:9092"))
    asyncio.run(broker.leader_and_isr(read(m.LeaderAndIsrRequest, 7, orders.leader_and_isr(TOLD, 7))))
    deletion = StopReplicaRequest(5, 77, 1, 3, (StopReplicaPartition("foo", ID, 2, leader_epoch, delete=True),))
    (fields,) = orders.stop_replica(deletion, 4)
    response = asyncio.run(broker.stop_replica(read(m.StopReplicaRequest, 4, fields)))
    assert response.error_code == 0
    assert [(e.topic_name, e.partition_index, e.error_code) for e in response.partition_errors] == answer
    assert (("foo", 2) in broker.logs) is kept


@pytest.mark.parametrize("version", range(8))
def test_an_answer_names_what_did_not_go_well(version: int) -> None:
    rows = [{"topic_name": "foo", "partition_index": p, "error_code": code} for p, code in {2: 56, 3: 0}.items()]
    fields = {"partition_errors": rows, "topics": [{"topic_id": as_uuid(ID), "partition_errors": rows}]}
    answer = orders.answered(read(m.LeaderAndIsrResponse, version, fields), TOLD)
    assert answer.error == ErrorCode.NONE
    assert answer.errors == {TopicPartition("foo", 2): ErrorCode.KAFKA_STORAGE_ERROR}


def test_unknown_number_is_an_error_of_the_whole_request() -> None:
    answer = orders.answered(m.UpdateMetadataResponse(version=8, error_code=999), TOLD)
    assert answer.error == ErrorCode.UNKNOWN_SERVER_ERROR


ids = st.integers(0, 2**31 - 1)
epochs = st.integers(0, 2**31 - 1)
brokers = st.lists(st.integers(0, 9), unique=True, min_size=1, max_size=5).map(tuple)
who = {"broker_id": st.just(5), "broker_epoch": st.integers(0, 2**62), "controller_id": ids, "controller_epoch": epochs}
of_partition = {"topic": st.sampled_from(["a", "b.c", "\u00e4"]), "topic_id": st.just(ID), "partition": ids}
state = {"leader": st.integers(-2, 9), "leader_epoch": epochs, "isr": brokers, "partition_epoch": epochs}
statuses = st.sampled_from([-1, 0, 1])
endpoints = st.builds(
    Endpoint, st.just("IN"), st.just("h"), st.integers(1, 65535), st.sampled_from([*orders.PROTOCOLS])
)


def decoded(kind: Any, fields: dict[str, Any]) -> Any:
    """What the other side decodes, in the newest version."""
    return kind.decode(bytes(build(kind, kind.max_version, fields).encode()), version=kind.max_version)


def in_order(request: Any) -> Any:
    """By topic: only within one the order of partitions is kept, and no more is required."""
    return attrs.evolve(request, partitions=tuple(sorted(request.partitions, key=lambda p: p.topic)))


any_members = st.builds(
    LeaderAndIsrPartition,
    **of_partition,
    **state,
    replicas=brokers,
    target_replicas=st.none() | brokers,
    is_new=st.booleans(),
    status_code=statuses,
    leader_recovery_state=st.sampled_from([0, 1]),
)


@pytest.mark.slow
@given(
    st.builds(
        LeaderAndIsrRequest,
        **who,
        full=st.booleans(),
        partitions=st.lists(any_members).map(tuple),
        live_leaders=st.just(()),
    )
)
def test_leader_and_isr(request: LeaderAndIsrRequest) -> None:
    order = decoded(m.LeaderAndIsrRequest, orders.leader_and_isr(request, 7))
    assert in_order(received.leader_and_isr(order, 5)) == in_order(request)


known = st.builds(
    PartitionMetadata, **of_partition, **state, replicas=brokers, offline_replicas=brokers, status_code=statuses
)


@pytest.mark.slow
@given(
    st.builds(
        UpdateMetadataRequest,
        **who,
        full=st.booleans(),
        partitions=st.lists(known).map(tuple),
        live_brokers=st.just(()),
    )
)
def test_update_metadata(request: UpdateMetadataRequest) -> None:
    order = decoded(m.UpdateMetadataRequest, orders.update_metadata(request, 8))
    assert in_order(received.update_metadata(order, 5)) == in_order(request)


@given(st.lists(endpoints, min_size=1, max_size=3), st.none() | st.just("a"))
def test_brokers_of_update_metadata(listed: list[Endpoint], rack: str | None) -> None:
    peer = LivePeer(7, listed[0].host, listed[0].port, rack, tuple(listed))
    request = UpdateMetadataRequest(5, 1, 2, 3, True, (peer,), ())
    order = decoded(m.UpdateMetadataRequest, orders.update_metadata(request, 8))
    assert received.update_metadata(order, 5).live_brokers == (peer,)


stopped = st.builds(StopReplicaPartition, **of_partition, leader_epoch=epochs, delete=st.booleans())


@pytest.mark.slow
@given(st.builds(StopReplicaRequest, **who, partitions=st.lists(stopped).map(tuple)))
def test_stop_replica(request: StopReplicaRequest) -> None:
    """It goes in two requests: what is deleted, and what is not."""
    parts = [received.stop_replica(decoded(m.StopReplicaRequest, f), 5) for f in orders.stop_replica(request, 4)]
    told = in_order(attrs.evolve(request, partitions=tuple(p for part in parts for p in part.partitions)))
    meant = sorted(request.partitions, key=lambda p: not p.delete)
    assert told == in_order(attrs.evolve(request, partitions=tuple(meant)))
