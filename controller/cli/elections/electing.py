"""The election, and what is said of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import click

from controller.cli.kafka.answers import dumped, named, refused_json
from controller.cli.kafka.cluster import Cluster
from controller.cli.kafka.elections import ElectionType
from controller.cli.kafka.errors import Failed, Refused
from controller.cli.kafka.values import TopicPartition

_NOT_NEEDED: Final = 84


def elect(cluster: Cluster, kind: str, of: Sequence[TopicPartition] | None, *, as_json: bool) -> None:
    """Each of these partitions, or with None all, is led by whom the election gives. Of all, those that need none are
    not told. Raises Failed, also where some could not be elected."""
    found = cluster.elect_leaders(ElectionType[kind.upper()], of)
    elected = [tp for tp, error in found.items() if error is None]
    there = [tp for tp, error in found.items() if error is not None and error.code == _NOT_NEEDED]
    failed = {tp: error for tp, error in found.items() if error is not None and error.code != _NOT_NEEDED}
    if as_json:
        answer = {"elected": named(elected), "already_elected": named(there), "refused": refused_json(failed)}
        click.echo(dumped({"election_type": kind, **answer}))
    else:
        _say(f"Successfully completed leader election ({kind.upper()}) for partitions", elected)
        _say("Valid replica already elected for partitions", there)
    if failed:
        raise Failed(_failure(kind, failed.items()), terse=True, answered=as_json)


def _say(what: str, partitions: Iterable[TopicPartition]) -> None:
    names = ", ".join(map(str, partitions))
    if names:
        click.echo(f"{what} {names}")


def _failure(kind: str, failed: Iterable[tuple[TopicPartition, Refused]]) -> str:
    lines = [f"Error completing leader election ({kind.upper()}) for partition: {tp}: {error}" for tp, error in failed]
    return "\n".join([*lines, f"{len(lines)} replica(s) could not be elected"])
