"""`kedge kafka leader-election`: elects leaders of partitions, as kafka-leader-election.sh does."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from ..model.values import TopicPartition
from .kafka import Endpoint, connected, ending, endpoint_options
from .kafka.errors import Failed, Refused, dumped, named, refused_json
from .kafka.options import PROPERTIES, items, parse_object, partition_of, read_bytes, repeated
from .kafka.values import ElectionType
from .options import CONNECTION, Whole, command, group, json_option, option, quiet_option
from .printing import confirm

if TYPE_CHECKING:
    from .kafka.cluster import Cluster


def read_partitions(path: Path) -> list[TopicPartition]:
    """The partitions in a file, sorted; there may be none. Raises Failed."""
    found = parse_object(read_bytes(path), path)
    if "partitions" not in found:
        raise Failed('Replica election data is missing "partitions" field')
    partitions = [partition_of(raw) for raw in items(found, "partitions")]
    if twice := repeated(partitions):
        raise Failed(f"Replica election data contains duplicate partitions: [{', '.join(map(str, twice))}]")
    return sorted(partitions)


_NOT_NEEDED: Final = 84


def elect(cluster: Cluster, kind: str, of: Sequence[TopicPartition] | None, *, as_json: bool) -> None:
    """Elects a leader of each of these partitions, or with None of all, and prints the outcome. Of all, those that need
    no election are not printed. Raises Failed, also where some could not be elected."""
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
        confirm(f"{what} {names}")


def _failure(kind: str, failed: Iterable[tuple[TopicPartition, Refused]]) -> str:
    lines = [f"Error completing leader election ({kind.upper()}) for partition: {tp}: {error}" for tp, error in failed]
    return "\n".join([*lines, f"{len(lines)} replica(s) could not be elected"])


_FILE: Final = click.Path(path_type=Path)
_ID: Final = Whole(0, 2**31 - 1)
_WHICH: Final = {"topic": "topic", "all_topic_partitions": "all-topic-partitions", "path": "path-to-json-file"}


@command(
    "leader-election",
    example="kedge kafka leader-election --bootstrap-server localhost:9092 \\\n"
    "    --election-type preferred --all-topic-partitions",
)
@option(
    "--election-type",
    type=click.Choice(["preferred", "unclean"], case_sensitive=False),
    help="Elect the first replica if in sync, or any live one. Required.",
)
@group(
    "Partitions (choose one way)",
    option("--all-topic-partitions", is_flag=True, help="Every partition that needs an election."),
    option("--topic", metavar="NAME", help="Topic of --partition."),
    option("--partition", type=_ID, metavar="ID", help="Partition id in --topic."),
    option(
        "--path-to-json-file", "path", type=_FILE, help='File with {"partitions": [{"topic": "a", "partition": 1}]}.'
    ),
)
@endpoint_options
@option("--admin.config", "admin_config", type=PROPERTIES, group=CONNECTION, help="Another name of --command-config.")
@json_option()
@quiet_option
def leader_election(**given: Any) -> None:
    """Elect leaders as kafka-leader-election.sh does.

    Prints which partitions got another leader and which already had the right one. A preferred election moves
    leadership back after a restart. An unclean one revives a partition without in-sync replicas, and may lose records.

    Exit code: 0 done, also if there was nothing to do; 1 not done, or not for all partitions; 2 the options cannot
    be used.
    """
    _check(given)
    with ending(as_json=given["as_json"]):
        of = None
        if given["path"] is not None:
            of = read_partitions(given["path"])
        elif given["topic"] is not None:
            of = [TopicPartition(given["topic"], given["partition"])]
        with connected(
            Endpoint(given["bootstrap_server"], given["command_config"] or given["admin_config"])
        ) as cluster:
            elect(cluster, given["election_type"].lower(), of, as_json=given["as_json"])


def _check(given: dict[str, Any]) -> None:
    """Raises UsageError where options do not fit, in Kafka's words."""
    missing = [n for n in ("bootstrap_server", "election_type") if given[n] is None]
    if missing:
        raise click.UsageError(f"Missing required option(s): {', '.join(n.replace('_', '-') for n in missing)}")
    if sum(given[name] not in (None, False) for name in _WHICH) != 1:
        raise click.UsageError(f"One and only one of the following options is required: {', '.join(_WHICH.values())}")
    if given["topic"] is not None and given["partition"] is None:
        raise click.UsageError("Missing required option(s): partition")
    if given["topic"] == "":
        raise click.UsageError("--topic is empty")
    if given["topic"] is None and given["partition"] is not None:
        raise click.UsageError("Option partition is only allowed if topic is used")
    if given["command_config"] is not None and given["admin_config"] is not None:
        raise click.UsageError("Only one of --command-config and --admin.config can be given")
