"""--alter: more partitions, or, where the server can do that, fewer."""

from __future__ import annotations

from collections.abc import Sequence

import click

from controller.cli.kafka.answers import dumped
from controller.cli.kafka.cluster import Cluster
from controller.cli.kafka.errors import Refused
from controller.cli.kafka.private import DELETE_PARTITIONS
from controller.cli.kafka.values import TopicState
from controller.cli.topics.asked import Asked
from controller.cli.topics.assigning import check_racks, without_racks
from controller.cli.topics.choosing import chosen, failure
from controller.cli.topics.shrinking import shrink


def alter(cluster: Cluster, asked: Asked) -> None:
    """Each topic has so many partitions. Raises Failed at the first that cannot."""
    found = chosen(cluster, asked)
    count = len(asked.assignment) if asked.partitions is None and asked.assignment is not None else asked.partitions
    assert count is not None
    if asked.assignment is None and not asked.ignore_racks and any(count > len(t.partitions) for t in found.values()):
        check_racks(cluster)
    for topic in found.values():
        if count < len(topic.partitions) and cluster.offers(DELETE_PARTITIONS):
            shrink(cluster, topic, count, asked)
            continue
        try:
            cluster.create_partitions(topic.name, count, _new(cluster, topic, count, asked))
        except Refused as error:
            raise failure(error) from None
    if asked.as_json:
        click.echo(dumped({"topics": sorted(found), "partitions": count}))


def _new(cluster: Cluster, topic: TopicState, count: int, asked: Asked) -> Sequence[Sequence[int]] | None:
    """Replicas of those that are added; None: the server says."""
    there = len(topic.partitions)
    if count <= there:
        return None
    if asked.assignment is not None:
        return asked.assignment[there:count]
    if not asked.ignore_racks:
        return None
    first = topic.partitions[0].replicas
    return without_racks(cluster, count - there, len(first), first=there, beside=first[0])
