"""Files of kafka-kit's metricsfetcher: sizes of partitions, free bytes of brokers.

`/topicmappr/partitionmeta`: `{"topic": {"0": {"Size": 1.0}}}`; `/topicmappr/brokermetrics`: `{"1001": {"StorageFree":
1.0}}`. A size is that of the partition on any broker. `kedge.pipeline.stages.load` turns free bytes into a capacity,
once the bytes of the replicas are known.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from .gathered import INT_MAX, Gathered, amount, an_object, document, each, is_id, of_kind, whole
from .layouts import topic_of


def from_partition_meta(data: bytes, source: str, into: Gathered) -> None:
    """Add the size of every partition."""

    def topic(name: str, row: Any) -> None:
        of = topic_of(name)
        each(into.rejects, source, an_object(row, "topic"), lambda number, found: partition(of, number, found))

    def partition(of: str, number: str, row: Any) -> None:
        size = int(amount(an_object(row, "partition").get("Size"), "Size"))
        into.logs.append((None, None, of, whole(number, "partition", INT_MAX), size, None, False))

    each(into.rejects, source, of_kind(document(data, source), source, "a topic with partitions", _is_topic), topic)


def _is_topic(_: str, row: Any) -> bool:
    return isinstance(row, dict) and (not row or any(map(is_id, row)))


def from_broker_metrics(data: bytes, source: str, into: Gathered, *, now: datetime) -> None:
    """Add the free bytes of every broker at `now`."""

    def broker(name: str, row: Any) -> None:
        free = int(amount(an_object(row, "broker").get("StorageFree"), "StorageFree"))
        into.broker_sample(now, whole(name, "broker id", INT_MAX), disk_free_bytes=free)

    rows = of_kind(document(data, source), source, "a broker with its StorageFree", _is_broker)
    each(into.rejects, source, rows, broker)


def _is_broker(name: str, row: Any) -> bool:
    return is_id(name) and isinstance(row, dict) and "StorageFree" in row
