"""Requests of transactional producers, as bytes go over the wire, to brokers that live."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from kedge.controller.model.logs import Batch
from kedge.controller.wire.data.batches import read_batch, transactional
from tests.kit.waiting import until
from tests.wire.asking import produce
from tests.wire.living import Living, records
from tests.wire.served import RawClient


def opened(*, down: int | None = None, **options: Any) -> Iterator[RawClient]:
    """`down`: a broker that is dead."""
    with Living(groups={"offsets_partitions": 1}, **options) as living, RawClient(living.address) as client:
        living.topic("orders", [[1, 2, 3]] * 20)
        living.topic("hidden", [[1, 2, 3]])
        until(lambda: all(client.ask("FindCoordinator", 2, key="any", key_type=k).error_code == 0 for k in (0, 1)))
        if down is not None:
            living.cluster.kill_broker(down)
        until(lambda: initialized(client, "first").error_code == 0)
        yield client


@pytest.fixture(scope="module", name="client")
def made_client() -> Iterator[RawClient]:
    yield from opened()


def initialized(client: RawClient, transactional_id: str | None, version: int = 4, **fields: Any) -> Any:
    named = {"transactional_id": transactional_id, "transaction_timeout_ms": 60_000, **fields}
    return client.ask("InitProducerId", version, **named)


def of(producer: Any, transactional_id: str = "t") -> dict[str, Any]:
    """The fields that name a producer."""
    named = {"producer_id": producer.producer_id, "producer_epoch": producer.producer_epoch}
    return {"transactional_id": transactional_id, **named}


def add(
    client: RawClient, producer: Any, *partitions: int, topic: str = "orders", version: int = 3, **fields: Any
) -> list[int]:
    """The errors of these partitions."""
    asked = {f"v3_and_below_{name}": value for name, value in {**of(producer), **fields}.items()}
    topics = [{"name": topic, "partitions": [*partitions]}]
    answer = client.ask("AddPartitionsToTxn", version, **asked, v3_and_below_topics=topics)
    [found] = answer.results_by_topic_v3_and_below
    return [row.partition_error_code for row in found.results_by_partition]


def batch(producer: Any, *contents: bytes, sequence: int = 0) -> bytes:
    plain = read_batch(records(*contents, producer=(producer.producer_id, producer.producer_epoch, sequence)))
    assert isinstance(plain, Batch)
    return transactional(plain, producer.producer_id, producer.producer_epoch).payload


def write(client: RawClient, producer: Any, partition: int, *contents: bytes, **fields: Any) -> int:
    payload = batch(producer, *contents, sequence=fields.pop("sequence", 0))
    named = {"partition": partition, "version": 11, "transactional_id": "t", **fields}
    return int(produce(client, payload, **named).error_code)


def end(client: RawClient, producer: Any, *, committed: bool, version: int = 4) -> Any:
    """Until what was written before is complete."""
    while (answer := client.ask("EndTxn", version, **of(producer), committed=committed)).error_code == 51:
        pass
    return answer


def begun(client: RawClient, *partitions: int) -> Any:
    """A producer with an open transaction in these partitions."""
    producer: Any = None
    while producer is None or producer.error_code == 51:
        producer = initialized(client, "t")
    assert set(add(client, producer, *partitions)) <= {0}
    return producer


def state_of(client: RawClient, transactional_id: str = "t") -> Any:
    [found] = client.ask("DescribeTransactions", 0, transactional_ids=[transactional_id]).transaction_states
    return found


def marked(client: RawClient, producer: Any, partition: int, coordinator_epoch: int) -> int:
    topics = [{"name": "orders", "partition_indexes": [partition]}]
    named = {"producer_id": producer.producer_id, "producer_epoch": producer.producer_epoch, "topics": topics}
    marker = {**named, "transaction_result": False, "coordinator_epoch": coordinator_epoch}
    [answer] = client.ask("WriteTxnMarkers", 1, markers=[marker]).markers
    return int(answer.topics[0].partitions[0].error_code)


def commit(client: RawClient, producer: Any, offset: int, version: int = 3, group: str = "g", **fields: Any) -> int:
    part = {"partition_index": 0, "committed_offset": offset, "committed_metadata": "m"}
    named = {**of(producer), "group_id": group, "generation_id": -1, "member_id": "", **fields}
    answer = client.ask("TxnOffsetCommit", version, topics=[{"name": "orders", "partitions": [part]}], **named)
    return int(answer.topics[0].partitions[0].error_code)


def committed(client: RawClient, *, is_stable: bool, group: str = "g") -> tuple[int, int]:
    """Error and offset."""
    asked = [{"group_id": group, "topics": [{"name": "orders", "partition_indexes": [0]}]}]
    [found] = client.ask("OffsetFetch", 9, groups=asked, require_stable=is_stable).groups
    [row] = found.topics[0].partitions
    return row.error_code, row.committed_offset
