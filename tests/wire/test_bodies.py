"""The packed parts of orders are the bytes that the codec writes, and are made once for all brokers."""

from __future__ import annotations

from functools import partial
from typing import Any, Final, NoReturn

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kedge import NewTopic
from kedge.controller.model.host import (
    LeaderAndIsrPartition,
    LeaderAndIsrRequest,
    LivePeer,
    PartitionMetadata,
    Shared,
    UpdateMetadataRequest,
)
from kedge.controller.model.values import Endpoint
from kedge.controller.wire.messages import messages_of
from kedge.controller.wire.protocol import Header, write_before, write_request
from kedge.controller.wire.remote import RemoteHost, orders
from kedge.controller.wire.remote.bodies import DIFFERS, InCommon, leader_and_isr
from tests.kit.waiting import until
from tests.wire.peers import Peer
from tests.wire.test_remote_host import LATEST, asked, driving, register

LEADER_AND_ISR: Final = messages_of("LeaderAndIsr")
UPDATE_METADATA: Final = messages_of("UpdateMetadata")
PEERS: Final = (LivePeer(1, "one", 9092, None), LivePeer(2, "two", 9093, "a"))
IDS: Final = ("AAAAAAAAAAAAAAAAAAAAAQ", "__________________8", "", "none")

numbers = st.integers(0, 2**31 - 1)
replicas = st.lists(numbers, max_size=4).map(tuple)
many = st.sampled_from([126, 127, 128, 300]).map(lambda count: tuple(range(count)))
any_replicas = st.one_of(replicas, replicas, many)
basis = {
    "topic": st.sampled_from(["orders", "zwölf", "x" * 249]),
    "topic_id": st.sampled_from(IDS),
    "partition": numbers,
    "leader": st.one_of(st.sampled_from([-2, -1]), numbers),
    "leader_epoch": numbers,
    "isr": any_replicas,
    "partition_epoch": st.integers(-1, 2**31 - 1),
    "replicas": any_replicas,
    "status_code": st.sampled_from([0, 0, -2, -1, 1]),
}
of_replica = st.builds(
    LeaderAndIsrPartition,
    **basis,
    target_replicas=st.one_of(st.none(), any_replicas),
    is_new=st.booleans(),
    leader_recovery_state=st.integers(0, 1),
)
of_metadata = st.builds(PartitionMetadata, **basis, offline_replicas=st.one_of(st.just(()), any_replicas))


@pytest.mark.slow
@pytest.mark.parametrize("version", range(8))
@given(partitions=st.lists(of_replica, max_size=6), full=st.booleans())
def test_leader_and_isr_is_what_the_codec_writes(
    version: int, partitions: list[LeaderAndIsrPartition], full: bool
) -> None:
    request = LeaderAndIsrRequest(7, 2**40, 101, 5, full, tuple(partitions), PEERS)
    header = Header(4, version, 77, "kedge")
    behind = leader_and_isr(LEADER_AND_ISR, request, version)
    frame = write_before(LEADER_AND_ISR, header, orders.before_partitions(request), DIFFERS, behind)
    assert frame == write_request(LEADER_AND_ISR, header, orders.leader_and_isr(request, version))


@pytest.mark.slow
@pytest.mark.parametrize("version", range(9))
@given(partitions=st.lists(of_metadata, max_size=6), full=st.booleans())
def test_update_metadata_is_what_the_codec_writes(
    version: int, partitions: list[PartitionMetadata], full: bool
) -> None:
    request = UpdateMetadataRequest(7, 2**40, 101, 5, full, PEERS, tuple(partitions))
    header = Header(6, version, 77, "kedge")
    behind = InCommon(UPDATE_METADATA).of(request, version)
    frame = write_before(UPDATE_METADATA, header, orders.before_partitions(request), DIFFERS, behind)
    assert frame == write_request(UPDATE_METADATA, header, orders.update_metadata(request, version))


def test_versions_of_kafka_2_8_and_later_are_packed(monkeypatch: pytest.MonkeyPatch) -> None:
    """2.8 reads LeaderAndIsr 5 and UpdateMetadata 7. The codec takes 15 us and more for each partition."""

    def slow(*_: object) -> NoReturn:
        raise AssertionError("partitions are written by the codec")

    monkeypatch.setattr(orders, "leader_and_isr", slow)
    monkeypatch.setattr(orders, "update_metadata", slow)
    assert leader_and_isr(LEADER_AND_ISR, LeaderAndIsrRequest(7, 9, 101, 5, False, (), PEERS), 5)
    assert InCommon(UPDATE_METADATA).of(UpdateMetadataRequest(7, 9, 101, 5, False, PEERS, ()), 7)


API = messages_of("UpdateMetadata")
ID = "AAAAAAAAAAAAAAAAAAAAAQ"


def metadata(partition: int) -> PartitionMetadata:
    return PartitionMetadata("orders", ID, partition, 1, 2, (1, 2), 3, (1, 2), (), 0)


def request(broker_id: int, partitions: tuple[PartitionMetadata, ...], **other: Any) -> UpdateMetadataRequest:
    peers = (LivePeer(1, "one", 9092, "a", (Endpoint("PLAINTEXT", "one", 9092, "PLAINTEXT"),)),)
    told = UpdateMetadataRequest(broker_id, 10 + broker_id, 101, 7, True, peers, partitions)
    return attrs.evolve(told, **other)


def test_what_brokers_share_is_encoded_once() -> None:
    common, partitions = InCommon(API), Shared(map(metadata, range(3)))
    first = common.of(request(1, partitions), 8)
    assert common.of(request(2, partitions), 8) is first
    assert common.of(request(2, Shared(partitions)), 8) is not first


@pytest.mark.parametrize(
    "other", [{"live_brokers": ()}, {"full": False}, {"controller_epoch": 8}, {"partitions": Shared([metadata(5)])}]
)
def test_what_differs_is_encoded_again(other: dict[str, Any]) -> None:
    common, told = InCommon(API), request(1, Shared(map(metadata, range(3))))
    changed = attrs.evolve(told, **other)
    assert common.of(changed, 8) != common.of(told, 8)
    assert common.of(changed, 8) == InCommon(API).of(changed, 8)
    assert common.of(told, 7) != common.of(told, 8)


def test_a_plain_tuple_is_encoded_each_time() -> None:
    common, partitions = InCommon(API), tuple(map(metadata, range(3)))
    assert common.of(request(1, partitions), 8) == common.of(request(1, Shared(partitions)), 8)


def test_each_broker_gets_its_own_epoch_and_all_partitions() -> None:
    with driving(RemoteHost(timeout_s=5.0)) as controller, Peer(LATEST) as one, Peer(LATEST) as two:
        epochs = {register(controller, 1, one): one, register(controller, 2, two): two}
        until(lambda: controller.describe().live_brokers == (1, 2))
        controller.admin.create_topics({"orders": NewTopic(3, 1)}).all().result(30)
        for epoch, peer in epochs.items():
            until(partial(_knows_all, peer))
            assert {each.broker_epoch for each in asked(peer, API.request)} == {epoch}


def _knows_all(peer: Peer) -> bool:
    topics = [topic for each in asked(peer, API.request) for topic in each.topic_states]
    return {state.partition_index for topic in topics for state in topic.partition_states} == {0, 1, 2}
