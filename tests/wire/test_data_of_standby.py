"""A gateway with logs whose controller stands by: records are its own affair, all else is the active one's."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing

import kafka
import pytest

from kedge.controller.server import LiveCluster, LiveServer
from kedge.controller.wire import Gateway, Peers
from kedge.controller.wire.apis import APIS
from kedge.controller.wire.data import with_logs
from kedge.stores import MemoryStore
from tests.kit.waiting import until
from tests.wire.served import DEADLINE_S, RACKS

ANSWER_S = 15.0  # a disconnected client tries for ever


@pytest.fixture
def gateway() -> Iterator[Gateway]:
    """Of the one that stands by; the active one's has no logs."""
    with ExitStack() as stack:
        server = LiveServer()
        cluster = stack.enter_context(LiveCluster(server, RACKS, controllers=2))
        cluster.until_ready(DEADLINE_S)
        controllers = [node.controller for node in cluster.nodes.values()]
        gateways = []
        for controller in sorted(filter(None, controllers), key=lambda one: one.is_active):
            finding = MemoryStore(server)
            stack.callback(finding.close)
            apis = APIS if controller.is_active else with_logs(cluster.logs)
            gateways.append(stack.enter_context(Gateway(controller, apis=apis, peers=Peers(store=finding))))
        yield gateways[0]


@pytest.mark.slow
def test_a_standby_with_logs_answers_for_them_and_passes_on_the_rest(gateway: Gateway) -> None:
    bootstrap = f"{gateway.address.host}:{gateway.address.port}"
    with closing(kafka.KafkaAdminClient(bootstrap_servers=bootstrap)) as admin:
        admin.create_topics({"orders": {"num_partitions": 1, "replication_factor": 3}})
        until(lambda: admin.describe_topics(["orders"])[0]["partitions"][0]["leader_id"] > 0)
    producer = kafka.KafkaProducer(bootstrap_servers=bootstrap, acks="all")
    try:
        assert producer.send("orders", b"one").get(ANSWER_S).offset == 0
    finally:
        producer.close(timeout=1)
    with closing(kafka.KafkaConsumer(bootstrap_servers=bootstrap)) as consumer:
        orders = kafka.TopicPartition("orders", 0)
        assert consumer.end_offsets([orders]) == {orders: 1}
    assert gateway.counts["forwarded"] > 0
    assert {"CreateTopics", "Produce", "ListOffsets"} & set(gateway.counts) == {"Produce", "ListOffsets"}
