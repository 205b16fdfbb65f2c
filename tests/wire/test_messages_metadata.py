"""Metadata tells the status of partitions (KIP-694) to clients that know it, and nothing else to those that do not."""

from __future__ import annotations

import pytest
from kafka.protocol.metadata import MetadataResponse as KafkaMetadataResponse

from kedge import DeletePartitions, NewTopic
from tests.wire.served import RawClient, Served


@pytest.mark.checklist(189)
def test_metadata_tells_the_status_from_version_9_on() -> None:
    with Served() as served, RawClient(served.address) as client:
        admin = served.controller.admin
        admin.create_topics({"orders": NewTopic(3, 3)}).all().result(30)
        admin.delete_partitions({"orders": DeletePartitions(2)}).all().result(30)
        for version in range(14):
            topics = [{"name": "orders", "topic_id": None}]
            answer = client.ask("Metadata", version, topics=topics)
            [topic] = answer.topics
            found = {p.partition_index: p.status_code for p in topic.partitions}
            assert found == {0: 0, 1: 0, 2: -1 if version >= 9 else 0}, version
            client.begin("Metadata", version, topics=topics)
            stock = KafkaMetadataResponse.decode(client.receive(), version=version, header=True)
            known = {p.partition_index: p.unknown_tags for p in stock.topics[0].partitions}
            assert known == {0: None, 1: None, 2: {"_20000": b"\xff"} if version >= 9 else None}, version
