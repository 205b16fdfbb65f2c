"""UpdateMetadata is encoded once for all brokers, and each gets the bytes that it would get alone."""

from __future__ import annotations

from functools import partial
from typing import Any

import attrs
import pytest

from kedge import NewTopic
from kedge.controller.model.host import LivePeer, PartitionMetadata, Shared, UpdateMetadataRequest
from kedge.controller.model.values import Endpoint
from kedge.controller.wire.messages import messages_of
from kedge.controller.wire.protocol import Header, write_before, write_request
from kedge.controller.wire.remote import orders
from kedge.controller.wire.remote.bodies import DIFFERS, InCommon
from tests.kit.waiting import until
from tests.wire.peers import Peer
from tests.wire.test_remote_host import LATEST, asked, controlled, register

__all__ = ["controlled"]

API = messages_of("UpdateMetadata")
ID = "AAAAAAAAAAAAAAAAAAAAAQ"


def metadata(partition: int) -> PartitionMetadata:
    return PartitionMetadata("orders", ID, partition, 1, 2, (1, 2), 3, (1, 2), (), 0)


def request(broker_id: int, partitions: tuple[PartitionMetadata, ...], **other: Any) -> UpdateMetadataRequest:
    peers = (LivePeer(1, "one", 9092, "a", (Endpoint("PLAINTEXT", "one", 9092, "PLAINTEXT"),)),)
    told = UpdateMetadataRequest(broker_id, 10 + broker_id, 101, 7, True, peers, partitions)
    return attrs.evolve(told, **other)


@pytest.mark.parametrize("version", range(9))
def test_both_pieces_are_the_bytes_of_the_whole(version: int) -> None:
    common, partitions = InCommon(API), Shared(map(metadata, range(3)))
    for broker_id in (1, 2):
        told = request(broker_id, partitions)
        header = Header(6, version, 77 + broker_id, "kedge")
        frame = write_before(API, header, orders.before_partitions(told), DIFFERS, common.of(told, version))
        assert frame == write_request(API, header, orders.update_metadata(told, version))


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


def test_each_broker_gets_its_own_epoch_and_all_partitions(controlled: Any) -> None:
    controller, _ = controlled
    with Peer(LATEST) as one, Peer(LATEST) as two:
        epochs = {register(controller, 1, one): one, register(controller, 2, two): two}
        until(lambda: controller.describe().live_brokers == (1, 2))
        controller.admin.create_topics({"orders": NewTopic(3, 1)}).all().result(30)
        for epoch, peer in epochs.items():
            until(partial(_knows_all, peer))
            assert {each.broker_epoch for each in asked(peer, API.request)} == {epoch}


def _knows_all(peer: Peer) -> bool:
    topics = [topic for each in asked(peer, API.request) for topic in each.topic_states]
    return {state.partition_index for topic in topics for state in topic.partition_states} == {0, 1, 2}
