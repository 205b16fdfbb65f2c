"""`kedge kafka log-dirs`: describes the log directories of brokers, as kafka-log-dirs.sh does."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from .kafka import Endpoint, connected, ending, endpoint_options
from .kafka.errors import Failed, dumped
from .kafka.options import parse_brokers
from .kafka.values import Description
from .options import command, json_option, option, quiet_option
from .printing import confirm, ids

if TYPE_CHECKING:
    from .kafka.cluster import Cluster

_ERRORS: Final = {
    -1: "org.apache.kafka.common.errors.UnknownServerException",
    56: "org.apache.kafka.common.errors.KafkaStorageException",
}
"""Why a directory cannot be read, as Kafka's tool names it."""


def describe_dirs(
    cluster: Cluster, brokers: Sequence[int] | None, topics: Collection[str] | None, *, as_json: bool
) -> None:
    """Prints what these brokers (None: all live ones) hold of these topics (None: all). Raises Failed; then nothing but
    progress is printed."""
    live = [*cluster.brokers()]
    gone = sorted(set(brokers or ()) - set(live))
    if gone:
        raise Failed(
            f"The given brokers do not exist from --broker-list: {ids(gone)}. Current existent brokers: {ids(live)}"
        )
    if topics is not None and (unknown := sorted(set(topics) - cluster.topics(topics).keys())):
        raise Failed(f"The given topics do not exist from --topic-list: {','.join(unknown)}")
    asked = live if brokers is None else sorted(brokers)
    if not as_json:
        confirm("Querying brokers for log directories information")
    found = {broker: cluster.log_dirs(broker) for broker in asked}
    if not as_json:
        confirm(f"Received log directory information from brokers {ids(asked)}")
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


@command("log-dirs", example="kedge kafka log-dirs --bootstrap-server localhost:9092 --describe")
@option("--describe", is_flag=True, help="Print the directories and their replicas. Required.")
@option("--broker-list", metavar="ID[,...]", none="all live brokers", help="Brokers to describe.")
@option("--topic-list", metavar="NAME[,...]", none="all", help="Topics to describe.")
@endpoint_options
@json_option("Print the JSON object alone, and an error as one.")
@quiet_option
def log_dirs(
    *,
    bootstrap_server: str | None,
    command_config: Path | None,
    describe: bool,
    broker_list: str | None,
    topic_list: str | None,
    as_json: bool,
) -> None:
    """Describe log directories as kafka-log-dirs.sh does.

    Prints one JSON object: for each broker its directories, and for each replica its size in bytes and by how many
    messages it is behind.

    Exit code: 0 done; 1 not done; 2 the options cannot be used.
    """
    if bootstrap_server is None:
        raise click.UsageError('Missing required argument "[bootstrap-server]"')
    if not describe:
        raise click.UsageError('Missing required argument "[describe]"')
    with ending(as_json=as_json):
        brokers = parse_brokers(broker_list) if broker_list else None
        topics = _names(topic_list) if topic_list else None
        with connected(Endpoint(bootstrap_server, command_config)) as cluster:
            describe_dirs(cluster, brokers, topics, as_json=as_json)


def _names(text: str) -> list[str]:
    return sorted({name.strip() for name in text.split(",")} - {""})
