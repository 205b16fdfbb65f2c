"""AlterPartition: leaders that are elsewhere change their ISR."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Iterator
from typing import Any

import attrs
import pytest

from kedge import NewTopic
from kedge.controller.wire import allow_all, slices
from kedge.controller.wire.calls import Call
from kedge.controller.wire.messages import AlterPartitionRequest
from kedge.controller.wire.protocol import build
from kedge.controller.wire.reading import as_uuid
from kedge.controller.wire.remote.in_sync import IsrChanges
from tests.kit.waiting import until
from tests.runtime.world import Cluster, cluster_of_three
from tests.wire.peers import Peer
from tests.wire.remote import Remote
from tests.wire.served import RawClient
from tests.wire.test_sessions import LATEST, register


@attrs.define
class Led:
    """Two brokers, and a topic that broker 1 leads."""

    remote: Remote
    client: RawClient
    epochs: dict[int, int]

    def alter(self, version: int, isr: list[int], **fields: Any) -> Any:
        """What broker 1 is answered to an isr of `orders`; `fields` are other than they should be."""
        epochs = {b: fields.pop(f"epoch_of_{b}", self.epochs.get(b, -1)) for b in isr}
        change = {
            "partition_index": 0,
            "leader_epoch": fields.pop("leader_epoch", self.remote.partition("orders").leader_epoch),
            "new_isr": isr,
            "new_isr_with_epochs": [{"broker_id": b, "broker_epoch": epoch} for b, epoch in epochs.items()],
            "partition_epoch": fields.pop("partition_epoch", self.remote.partition_epoch("orders")),
        }
        topic = {"topic_name": "orders", "topic_id": self.remote.topic_id("orders"), "partitions": [change]}
        topic |= {key: fields.pop(key) for key in ("topic_name", "topic_id") if key in fields}
        asked = {"broker_id": 1, "broker_epoch": self.epochs[1], "topics": [topic], **fields}
        return self.client.ask("AlterPartition", version, **asked)


@pytest.fixture(scope="module")
def led() -> Iterator[Led]:
    with Remote() as remote, RawClient(remote.address) as client, Peer(LATEST) as one, Peer(LATEST) as two:
        epochs = {i: register(client, i, peer.address).broker_epoch for i, peer in {1: one, 2: two}.items()}
        remote.live(1, 2)
        created = {"orders": NewTopic(replica_assignments=[[1, 2]])}
        remote.controller.admin.create_topics(created).all().result(30)
        yield Led(remote, client, epochs)


def only(answer: Any) -> Any:
    [topic] = answer.topics
    [partition] = topic.partitions
    return partition


@pytest.mark.parametrize("version", range(4))
def test_an_isr_shrinks_and_grows_in_every_version(led: Led, version: int) -> None:
    for isr in ([1], [1, 2]):
        answer = led.alter(version, isr)
        row = only(answer)
        assert (answer.error_code, row.error_code, row.isr) == (0, 0, isr)
        assert (row.leader_id, row.leader_epoch) == (1, led.remote.partition("orders").leader_epoch)
        assert led.remote.partition("orders").isr == tuple(isr)


@pytest.mark.parametrize("version", range(4))
@pytest.mark.parametrize(
    "isr, fields, error_code",
    [
        ([1], {"leader_epoch": -1}, 74),
        ([1], {"partition_epoch": 0}, 95),
        ([2], {}, 42),
        ([], {}, 42),
        ([1, 9], {}, 107),
    ],
)
def test_what_cannot_be_is_refused_for_the_partition(
    led: Led, version: int, isr: list[int], fields: dict[str, Any], error_code: int
) -> None:
    before = led.remote.partition("orders")
    answer = led.alter(version, isr, **fields)
    assert (answer.error_code, only(answer).error_code) == (0, error_code)
    assert led.remote.partition("orders") == before


@pytest.mark.parametrize("version", range(4))
def test_a_leader_of_another_epoch_is_refused_as_a_whole(led: Led, version: int) -> None:
    answer = led.alter(version, [1], broker_epoch=led.epochs[1] + 1)
    assert (answer.error_code, list(answer.topics)) == (77, [])


def test_a_member_that_was_restarted_since_the_leader_knew_it_is_not_taken(led: Led) -> None:
    assert only(led.alter(3, [1, 2], epoch_of_2=led.epochs[2] - 1)).error_code == 107
    assert only(led.alter(3, [1, 2], epoch_of_2=-1)).error_code == 0


def test_topics_that_are_unknown_by_name_or_by_id(led: Led) -> None:
    assert only(led.alter(1, [1], topic_name="none")).error_code == 3
    assert only(led.alter(2, [1], topic_id=as_uuid("AAECAwQFBgcICQoLDA0ODw"))).error_code == 100
    assert only(led.alter(2, [1], topic_id=None)).error_code == 100


def test_topic_that_was_made_again_has_another_id(led: Led) -> None:
    admin, ids = led.remote.controller.admin, []
    for _ in range(2):
        admin.create_topics({"bills": NewTopic(replica_assignments=[[1, 2]])}).all().result(30)
        ids.append(led.remote.topic_id("bills"))
        row = only(led.alter(2, [1, 2], topic_id=ids[-1], leader_epoch=0, partition_epoch=0))
        assert (row.error_code, row.isr) == (0, [1, 2])
        if len(ids) == 1:
            admin.delete_topics(["bills"]).all().result(30)
            until(lambda: not led.remote.controller.describe().deleting_topics)
    assert only(led.alter(2, [1, 2], topic_id=ids[0], leader_epoch=0, partition_epoch=0)).error_code == 100


def test_leader_with_newer_state_than_the_controller_gets_an_error(led: Led) -> None:
    answer = led.alter(2, [1], leader_epoch=1000)
    assert (answer.error_code, only(answer).error_code) == (0, 41)


TOPICS = ("t", "u", "v")


async def _no_wait(_: int) -> None: ...


async def _at_once(work: Any) -> Any:
    return work()


def call_of(cluster: Cluster, api: Any) -> Call:
    controller: Any = cluster.controller
    nowhere: Any = None  # the handler asks for no address
    return Call(
        controller,
        controller.admin,
        nowhere,
        None,
        api.messages,
        1,
        None,
        "",
        None,
        "",
        None,
        allow_all,
        _no_wait,
        _at_once,
    )


def request_of(cluster: Cluster) -> Any:
    """Broker 1 leaves itself alone in the ISR of a partition of each topic."""
    broker = cluster.done(cluster.controller.query(lambda view: view.brokers[1]))
    changes = {"partition_index": 0, "leader_epoch": 0, "new_isr": [1], "partition_epoch": 0}
    topics = [{"topic_name": name, "partitions": [changes]} for name in TOPICS]
    return build(AlterPartitionRequest, 1, {"broker_id": 1, "broker_epoch": broker.epoch, "topics": topics})


@pytest.mark.slow
def test_partitions_of_a_request_are_changed_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A broker with a long list has no more changes decided at once than a part has. All of them are answered."""
    monkeypatch.setattr(slices, "PART", 2)
    cluster = cluster_of_three()
    for name in TOPICS[1:]:
        cluster.create(name)
    handler = IsrChanges()
    most = 0

    async def scenario() -> Any:
        nonlocal most
        answering = asyncio.ensure_future(handler.alter_partition(call_of(cluster, handler.api), request_of(cluster)))
        while not answering.done():
            for _ in range(10):
                await asyncio.sleep(0)
            most = max(most, cluster.controller.describe().waiting_requests)
            cluster.run()
        return answering.result()

    answer = asyncio.run(scenario())
    assert most == 2
    rows = [(topic["topic_name"], p["error_code"], p["isr"]) for topic in answer["topics"] for p in topic["partitions"]]
    assert rows == [(name, 0, [1]) for name in TOPICS]


@pytest.mark.slow
def test_no_coroutine_is_left_that_nothing_awaits() -> None:
    """It would be a warning in the log of the gateway, which is an error in tests."""
    cluster = cluster_of_three()
    for name in TOPICS[1:]:
        cluster.create(name)
    handler = IsrChanges()

    async def scenario() -> None:
        answering = asyncio.ensure_future(handler.alter_partition(call_of(cluster, handler.api), request_of(cluster)))
        await asyncio.sleep(0)
        cluster.controller.poll_once()  # the question what there is; then the changes are asked for
        for _ in range(10):
            await asyncio.sleep(0)
        assert cluster.controller.describe().waiting_requests == len(TOPICS)
        answering.cancel()
        await asyncio.wait([answering])
        assert answering.cancelled()

    asyncio.run(scenario())
    gc.collect()
