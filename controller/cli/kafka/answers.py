"""What commands answer with --json, alike in all of them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from controller.cli.kafka.errors import Refused
from controller.cli.kafka.values import TopicPartition


def dumped(value: object) -> str:
    """JSON on one line, without blanks."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def named(partitions: Iterable[TopicPartition]) -> list[dict[str, Any]]:
    """Partitions in answers to --json, sorted."""
    return [{"topic": tp.topic, "partition": tp.partition} for tp in sorted(partitions)]


def refused_json(refused: Mapping[TopicPartition, Refused]) -> list[dict[str, Any]]:
    """What a server did not do for each partition, sorted, with Kafka's codes and its own words."""
    return [
        {"topic": tp.topic, "partition": tp.partition, "code": error.code, "message": str(error)}
        for tp, error in sorted(refused.items())
    ]
