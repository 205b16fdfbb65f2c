"""Fewer partitions (KIP-694), where a server offers it: the last ones go, at once or when their retention is over."""

from __future__ import annotations

import sys
from typing import Final

import click

from controller.cli.kafka.cluster import Cluster
from controller.cli.kafka.errors import Refused
from controller.cli.kafka.values import TopicPartition, TopicState
from controller.cli.topics.asked import Asked
from controller.cli.topics.choosing import failure

_SWITCHED_OFF: Final = 73
_KEYED: Final = (
    "WARNING: If partitions are removed from a topic that has a key, the partition of a key will change, and for a "
    "while its messages may be in two partitions."
)


def shrink(cluster: Cluster, topic: TopicState, count: int, asked: Asked) -> None:
    """The partitions from id `count` on are read-only, or being deleted. Raises Failed."""
    tail = [p.index for p in topic.partitions if p.index >= count]
    changing = [p.index for p in topic.partitions if p.status]
    moving = cluster.reassignments(TopicPartition(topic.name, index) for index in tail)
    if moving or (changing and (asked.delayed or changing[0] != count)):
        what = "reassigned" if moving else "reduced"
        raise failure(f"topic {topic.name} is under change: it is being {what}; nothing was changed")
    click.echo(_KEYED, err=True)
    if not asked.delayed and not asked.yes:
        _confirm(topic.name, tail)
    try:
        cluster.delete_partitions(topic.name, tail, immediate=not asked.delayed)
    except Refused as error:
        if error.code == _SWITCHED_OFF:
            raise failure(f"the cluster does not allow partitions to be deleted: {error}") from None
        raise failure(error) from None
    if asked.delayed and not asked.as_json:
        which = f"partition(s) {', '.join(map(str, tail))} of topic {topic.name}"
        click.echo(f"Read-only from now on, and deleted when the retention is over: {which}.")


def _confirm(topic: str, tail: list[int]) -> None:
    how_many, they = ("1 partition", "it holds") if len(tail) == 1 else (f"{len(tail)} partitions", "they hold")
    what = f"{how_many} of {topic} at once, with all that {they}"
    if not sys.stdin.isatty():
        raise failure(
            f"nothing was changed: to delete {what}, say --yes; --delete-partitions-delay deletes when "
            "the retention is over"
        )
    if not click.confirm(f"Delete {what}?", err=True):
        raise failure("nothing was changed")
