"""--generate: a proposal that spreads topics over brokers, beside what is there now."""

from __future__ import annotations

import random
from collections.abc import Sequence

import attrs
import click

from controller.cli.kafka.answers import dumped
from controller.cli.kafka.errors import Failed
from controller.cli.reassign.plan import document
from controller.cli.reassign.view import View, check_brokers, known_topics, replicas_of
from controller.model.values import Replicas, TopicPartition
from controller.rules.placement import assign_replicas


@attrs.frozen
class Wanted:
    """`topics` over `brokers`. `seed`: the same seed gives the same proposal."""

    topics: Sequence[str]
    brokers: Sequence[int]
    is_rack_aware: bool
    seed: int | None


def generate(view: View, wanted: Wanted, *, as_json: bool) -> None:
    """Prints both assignments; nothing is changed."""
    live = view.brokers()
    check_brokers(wanted.brokers, live)
    racks = {broker: live[broker].rack if wanted.is_rack_aware else None for broker in wanted.brokers}
    if None in racks.values() and any(racks.values()):
        raise Failed(
            "Not all brokers have rack information. Add --disable-rack-aware in command line to make replica "
            "assignment without rack information."
        )
    topics = known_topics(view, wanted.topics)
    chance = random.Random(wanted.seed)  # noqa: S311 - where a rotation begins is no secret
    proposed: dict[TopicPartition, Replicas] = {}
    for name, topic in topics.items():
        factor = len(topic.partitions[0].replicas)
        if factor > len(racks):
            raise Failed(f"Replication factor: {factor} larger than available brokers: {len(racks)}.")
        start, shift = chance.randrange(len(racks)), chance.randrange(len(racks))
        placed = assign_replicas(racks, len(topic.partitions), factor, start=start, shift=shift)
        proposed |= {TopicPartition(name, p.index): r for p, r in zip(topic.partitions, placed, strict=True)}
    current = document(replicas_of(topics.values()))
    if as_json:
        click.echo(dumped({"current": current, "proposed": document(proposed)}))
        return
    click.echo(f"Current partition replica assignment\n{dumped(current)}\n")
    click.echo(f"Proposed partition reassignment configuration\n{dumped(document(proposed))}")
