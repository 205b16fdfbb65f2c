"""Requests by their short names, and the content of the store."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from kafka.record import MemoryRecords

from kedge import TopicPartition
from kedge.controller.codec import keys
from kedge.controller.model.view import ClusterView
from tests.kit.waiting import until
from tests.wire.served import DEADLINE_S, RawClient, Served

TIMEOUT_MS: Final = 20_000


def ask(client: RawClient, api: str, version: int, **fields: Any) -> Any:
    """The answer to one request, with a timeout if none is given."""
    return client.ask(api, version, **{"timeout_ms": TIMEOUT_MS, **fields})


def new_topic(name: str, partitions: int = -1, factor: int = -1, **more: Any) -> dict[str, Any]:
    """A topic to create; `assignments` maps partitions to brokers, `configs` names to values."""
    return {
        "name": name,
        "num_partitions": partitions,
        "replication_factor": factor,
        "assignments": [{"partition_index": p, "broker_ids": b} for p, b in more.get("assignments", {}).items()],
        "configs": [{"name": key, "value": value} for key, value in more.get("configs", {}).items()],
    }


def partitions_of(client: RawClient, name: str) -> dict[int, Any]:
    """The partitions of a topic, as Metadata tells them now."""
    answer = client.ask("Metadata", 12, topics=[{"name": name, "topic_id": None}])
    return {partition.partition_index: partition for partition in answer.topics[0].partitions}


def led(client: RawClient, name: str) -> dict[int, Any]:
    """As `partitions_of`, when all have leaders."""
    until(lambda: all(p.leader_id >= 0 for p in partitions_of(client, name).values()))
    return partitions_of(client, name)


def contents(served: Served) -> Mapping[str, bytes]:
    """All that stands in the store, when what was asked for before is done: topics have their keys, or are gone."""
    until(lambda: served.controller.query(_is_done).result(DEADLINE_S))
    return {entry.key: entry.value for entry in served.store.snapshot("/", timeout_s=DEADLINE_S).entries}


def _is_done(view: ClusterView) -> bool:
    names = list(view.topic_names())
    return not any(map(view.is_deleting, names)) and all(
        p.has_state for name in names for p in view.partitions_of(name)
    )


def in_sync(served: Served, tp: TopicPartition, isr: list[int]) -> None:
    """The leader of a partition says who is in sync."""
    entry = served.store.get(keys.state(tp.topic, tp.partition), timeout_s=DEADLINE_S)
    assert entry is not None
    row = served.controller.query(lambda view: view.partition(tp.topic, tp.partition)).result(DEADLINE_S)
    assert row is not None
    epoch = served.controller.broker_epochs[row.leader]
    future = served.controller.alter_isr(tp, row.leader, row.leader_epoch, entry.generation, isr, epoch)
    future.result(DEADLINE_S)


def codes(value: Any, version: int) -> Iterator[int]:
    """All errors in an answer of this version, or in its rows."""
    if isinstance(value, list):
        for row in value:
            yield from codes(row, version)
    for name, field in getattr(getattr(value, "_struct", None), "fields", {}).items():
        if field.for_version_q(version):
            found = getattr(value, name)
            yield from [found] if name == "error_code" else codes(found, version)


# --- records


def produce(
    client: RawClient, payload: bytes | None, *, topic: str = "orders", partition: int = 0, **options: Any
) -> Any:
    """The answer for one partition."""
    version = options.pop("version", 9)
    part = {"index": partition, "records": payload}
    fields = {"acks": -1, "timeout_ms": 5000, "transactional_id": None, **options}
    topics = [{"name": topic, "partition_data": [part]}]
    answer = client.ask("Produce", version, topic_data=topics, **fields)
    return answer.responses[0].partition_responses[0]


def fetch(client: RawClient, offset: int, *, topic: str = "orders", partition: int = 0, **options: Any) -> Any:
    """The answer for one partition."""
    version, wait_ms = options.pop("version", 12), options.pop("wait_ms", 0)
    isolation_level = options.pop("isolation_level", 0)
    part = {"partition": partition, "fetch_offset": offset, "partition_max_bytes": 1_000_000, **options}
    fields = {"max_wait_ms": wait_ms, "min_bytes": 1, "max_bytes": 1_000_000, "session_epoch": -1}
    fields["isolation_level"] = isolation_level
    topics = [{"topic": topic, "partitions": [part]}]
    answer = client.ask("Fetch", version, topics=topics, **fields)
    return answer.responses[0].partitions[0]


def offset_of(
    client: RawClient, timestamp: int, *, topic: str = "orders", version: int = 9, partition: int = 0, **options: Any
) -> Any:
    """The answer for one partition."""
    replica_id = options.pop("replica_id", -1)
    part = {"partition_index": partition, "timestamp": timestamp, **options}
    topics = [{"name": topic, "partitions": [part]}]
    answer = client.ask("ListOffsets", version, replica_id=replica_id, topics=topics)
    return answer.topics[0].partitions[0]


def values(fetched: Any) -> list[tuple[int, bytes]]:
    """Offset and value of every record."""
    read = MemoryRecords(bytes(fetched.records))
    return [(record.offset, record.value) for batch in iter(read.next_batch, None) for record in batch]
