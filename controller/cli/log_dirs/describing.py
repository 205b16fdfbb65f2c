"""--describe: each broker is asked for its own directories, and all of it is told as one object."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Final

import click

from controller.cli.kafka.answers import dumped
from controller.cli.kafka.cluster import Cluster
from controller.cli.kafka.errors import Failed
from controller.cli.kafka.values import Description

_ERRORS: Final = {
    -1: "org.apache.kafka.common.errors.UnknownServerException",
    56: "org.apache.kafka.common.errors.KafkaStorageException",
}
"""Why a directory cannot be told, as Kafka's tool names it."""


def describe_dirs(
    cluster: Cluster, brokers: Sequence[int] | None, topics: Collection[str] | None, *, as_json: bool
) -> None:
    """Prints what these brokers (None: all that live) hold of these topics (None: all). Raises Failed; then nothing is
    printed but what is asked."""
    live = [*cluster.brokers()]
    gone = sorted(set(brokers or ()) - set(live))
    if gone:
        raise Failed(
            f"The given brokers do not exist from --broker-list: {_ids(gone)}. Current existent brokers: {_ids(live)}"
        )
    if topics is not None and (unknown := sorted(set(topics) - cluster.topics(topics).keys())):
        raise Failed(f"The given topics do not exist from --topic-list: {','.join(unknown)}")
    asked = live if brokers is None else sorted(brokers)
    if not as_json:
        click.echo("Querying brokers for log directories information")
    found = {broker: cluster.log_dirs(broker) for broker in asked}
    if not as_json:
        click.echo(f"Received log directory information from brokers {_ids(asked)}")
    click.echo(dumped({"brokers": [_broker(b, said, topics) for b, said in found.items()], "version": 1}))


def _broker(broker: int, said: Description, topics: Collection[str] | None) -> dict[str, Any]:
    """With Kafka's names."""
    held: dict[str, list[dict[str, Any]]] = {path: [] for path in said.dirs}
    for tp, places in sorted(said.replicas.items()):
        for place in places:
            if topics is None or tp.topic in topics:
                held[place.path].append(
                    {"partition": str(tp), "size": place.size, "offsetLag": place.lag, "isFuture": place.is_future}
                )
    dirs = [
        {"partitions": partitions, "error": _error(said.dirs[path]), "logDir": path}
        for path, partitions in sorted(held.items())
    ]
    return {"broker": broker, "logDirs": dirs}


def _error(code: int) -> str | None:
    return _ERRORS.get(code, f"error {code}") if code else None


def _ids(brokers: Sequence[int]) -> str:
    return ",".join(map(str, brokers))
