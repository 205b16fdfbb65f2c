"""--create and --delete."""

from __future__ import annotations

import click

from controller.cli.kafka.answers import dumped
from controller.cli.kafka.cluster import Cluster
from controller.cli.kafka.errors import Refused
from controller.cli.topics.asked import Asked
from controller.cli.topics.assigning import check_racks, without_racks
from controller.cli.topics.choosing import chosen, failure

_EXISTS = 36
_COLLIDE = (
    "WARNING: Due to limitations in metric names, topics with a period ('.') or underscore ('_') could collide. "
    "To avoid issues it is best to use either, but not both."
)


def create(cluster: Cluster, asked: Asked) -> None:
    """The topic exists. Raises Failed."""
    assert asked.topic is not None
    assignment, partitions, factor = asked.assignment, asked.partitions, asked.replication_factor
    if assignment is None and asked.ignore_racks:
        assert partitions is not None
        assert factor is not None
        assignment = without_racks(cluster, partitions, factor)
    elif assignment is None:
        check_racks(cluster)
    if ("." in asked.topic or "_" in asked.topic) and not asked.as_json:
        click.echo(_COLLIDE)
    by_hand = None if assignment is None else dict(enumerate(assignment))
    is_new = True
    try:
        cluster.create_topic(
            asked.topic, None if by_hand else partitions, None if by_hand else factor, by_hand, asked.configs
        )
    except Refused as error:
        if error.code != _EXISTS or not asked.if_not_exists:
            raise failure(error) from None
        is_new = False
    if asked.as_json:
        click.echo(dumped({"topic": asked.topic, "created": is_new}))
    elif is_new:
        click.echo(f"Created topic {asked.topic}.")


def delete(cluster: Cluster, asked: Asked) -> None:
    """The topics are being deleted. Raises Failed, also where some were refused."""
    found = chosen(cluster, asked)
    refused = cluster.delete_topics(found) if found else {}
    if asked.as_json:
        answer = {
            "deleted": [name for name in found if name not in refused],
            "refused": [{"topic": name, "code": e.code, "message": str(e)} for name, e in sorted(refused.items())],
        }
        click.echo(dumped(answer))
    if refused:
        raise failure(
            "; ".join(f"{name}: {error}" if len(found) > 1 else str(error) for name, error in sorted(refused.items())),
            answered=asked.as_json,
        )
