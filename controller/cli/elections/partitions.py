"""Files of partitions: {"partitions":[{"topic":"foo","partition":1}]}, with the words of Kafka's tool."""

from __future__ import annotations

from pathlib import Path

from controller.cli.kafka.errors import Failed
from controller.cli.kafka.json_files import items, parse_object, partition_of, read_bytes, repeated
from controller.cli.kafka.values import TopicPartition


def read_partitions(path: Path) -> list[TopicPartition]:
    """The partitions in a file, sorted; there may be none. Raises Failed."""
    found = parse_object(read_bytes(path))
    if "partitions" not in found:
        raise Failed('Replica election data is missing "partitions" field')
    partitions = [partition_of(raw) for raw in items(found, "partitions")]
    if twice := repeated(partitions):
        raise Failed(f"Replica election data contains duplicate partitions: [{', '.join(map(str, twice))}]")
    return sorted(partitions)
