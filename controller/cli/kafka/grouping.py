"""Partitions by topic, as requests have them."""

from __future__ import annotations

from collections.abc import Iterable

from controller.cli.kafka.values import TopicPartition


def by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[int]]:
    """Topic -> ids, both sorted."""
    found: dict[str, list[int]] = {}
    for tp in sorted(partitions):
        found.setdefault(tp.topic, []).append(tp.partition)
    return found
