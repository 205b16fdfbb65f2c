"""--list: what is being reassigned, as a plan that --execute and --cancel take, or as Kafka's tool says it."""

from __future__ import annotations

import click

from controller.cli.kafka.answers import dumped
from controller.cli.kafka.cluster import Cluster
from controller.cli.kafka.values import Move, TopicPartition
from controller.cli.reassign.plan import document


def list_moves(cluster: Cluster, *, as_text: bool) -> None:
    """Prints the plan of all moves that run, sorted; one without partitions where none does."""
    moves = cluster.reassignments()
    if not as_text:
        click.echo(dumped(document({tp: move.target for tp, move in moves.items()})))
    elif moves:
        lines = [_line(tp, move) for tp, move in moves.items()]
        click.echo("\n".join(["Current partition reassignments:", *lines]))
    else:
        click.echo("No partition reassignments found.")


def _line(tp: TopicPartition, move: Move) -> str:
    adding = f" adding: {_ids(move.adding)}." if move.adding else ""
    removing = f" removing: {_ids(move.removing)}." if move.removing else ""
    return f"{tp}: replicas: {_ids(move.replicas)}.{adding}{removing}"


def _ids(brokers: tuple[int, ...]) -> str:
    return ",".join(map(str, brokers))
