"""--list and --describe of `kedge kafka topics`, as Kafka's tool prints them.

Columns that Kafka does not have come last: `Target Replicas` of a partition that is being reassigned, `Status` of one
that is not online. Where reassignments cannot be listed, topics are described without them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

import attrs
import click

from ...model import numerals
from ...model.values import TopicPartition
from ..kafka.errors import Refused, dumped
from ..kafka.values import Move, PartitionState, Resource, ResourceType, Setting, Source, TopicState
from ..printing import ids
from .changing import Request, chosen, failure

if TYPE_CHECKING:
    from ..kafka.cluster import Cluster

STATUSES: Final = {0: "online", -1: "readOnly", 1: "offline"}
_MIN_ISR: Final = "min.insync.replicas"


@attrs.frozen
class Row:
    """A partition, its reassignment if one runs, and what its topic demands of its isr."""

    topic: TopicState
    state: PartitionState
    move: Move | None
    min_isr: int

    @property
    def replication_factor(self) -> int:
        """Without replicas that are being added. Metadata that is older than the move does not name those yet."""
        adding = () if self.move is None else self.move.adding
        return sum(broker not in adding for broker in self.state.replicas)


SHOWS: Final[Mapping[str, Callable[[Row, Collection[int]], bool]]] = {
    "under-replicated-partitions": lambda row, _: len(row.state.isr) < row.replication_factor,
    "unavailable-partitions": lambda row, live: row.state.leader is None or row.state.leader not in live,
    "under-min-isr-partitions": lambda row, _: len(row.state.isr) < row.min_isr,
    "at-min-isr-partitions": lambda row, _: len(row.state.isr) == row.min_isr,
}
OVERRIDES: Final = "topics-with-overrides"


def list_topics(cluster: Cluster, request: Request) -> None:
    names = list(chosen(cluster, attrs.evolve(request, if_exists=True)))
    if request.as_json:
        click.echo(dumped({"topics": names}))
    elif names:
        click.echo("\n".join(names))


def describe(cluster: Cluster, request: Request) -> None:
    found = cluster.with_eligible(chosen(cluster, request))
    settings = _settings(cluster, found)
    rows = list(_rows(cluster, found, settings))
    wanted = SHOWS.get(request.shows or "")
    if wanted is not None:
        live = cluster.brokers()
        rows = [row for row in rows if wanted(row, live)]
    if request.shows == OVERRIDES:
        rows = [row for row in rows if _overridden(settings[row.topic.name])]
    if request.as_json:
        click.echo(dumped({"topics": _objects(rows, settings)}))
        return
    for row in rows:
        if wanted is None and row.state.index == row.topic.partitions[0].index:
            click.echo(_header(row, settings[row.topic.name]))
        if request.shows != OVERRIDES:
            click.echo(_line(row))


def _settings(cluster: Cluster, topics: Collection[str]) -> dict[str, dict[str, Setting]]:
    resources = [Resource(ResourceType.TOPIC, name) for name in topics]
    found = {}
    for resource, answer in (cluster.describe_configs(resources) if resources else {}).items():
        if isinstance(answer, Refused):
            raise failure(answer)
        found[resource.name] = answer
    return found


def _rows(
    cluster: Cluster, topics: Mapping[str, TopicState], settings: Mapping[str, Mapping[str, Setting]]
) -> Iterator[Row]:
    everything = [TopicPartition(topic.name, p.index) for topic in topics.values() for p in topic.partitions]
    moves: Mapping[TopicPartition, Move] = {}
    if everything:
        try:
            moves = cluster.reassignments(everything)
        except Refused as error:
            click.echo(f"Couldn't query reassignments through the AdminClient API: {error}", err=True)
    for topic in topics.values():
        setting = settings[topic.name].get(_MIN_ISR)
        least = None if setting is None or setting.value is None else numerals.whole(setting.value.strip())
        yield from (Row(topic, p, moves.get(TopicPartition(topic.name, p.index)), least or 1) for p in topic.partitions)


def _overridden(settings: Mapping[str, Setting]) -> dict[str, str]:
    """Those that are not Kafka's own default: set for the topic, or for all by the configuration of brokers."""
    return {s.name: s.value or "" for s in settings.values() if s.source is not Source.DEFAULT_CONFIG}


def _header(row: Row, settings: Mapping[str, Setting]) -> str:
    topic_id = f"\tTopicId: {row.topic.topic_id}" if row.topic.topic_id else ""
    configs = ",".join(f"{name}={value}" for name, value in _overridden(settings).items())
    return (
        f"Topic: {row.topic.name}{topic_id}\tPartitionCount: {len(row.topic.partitions)}"
        f"\tReplicationFactor: {row.replication_factor}\tConfigs: {configs}"
    )


def _line(row: Row) -> str:
    state, move = row.state, row.move
    parts = [
        "",
        f"Topic: {row.topic.name}",
        f"Partition: {state.index}",
        f"Leader: {'none' if state.leader is None else state.leader}",
        f"Replicas: {ids(state.replicas)}",
        f"Isr: {ids(state.isr)}",
    ]
    if move is not None:
        parts += [f"Adding Replicas: {ids(move.adding)}", f"Removing Replicas: {ids(move.removing)}"]
    parts += [f"Elr: {_maybe(state.elr)}", f"LastKnownElr: {_maybe(state.last_known_elr)}"]
    if move is not None:
        parts.append(f"Target Replicas: {ids(move.target)}")
    if state.status:
        parts.append(f"Status: {STATUSES.get(state.status, state.status)}")
    return "\t".join(parts)


def _objects(rows: Collection[Row], settings: Mapping[str, Mapping[str, Setting]]) -> list[dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for row in rows:
        topic = found.setdefault(
            row.topic.name,
            {
                "topic": row.topic.name,
                "topic_id": row.topic.topic_id,
                "is_internal": row.topic.is_internal,
                "partition_count": len(row.topic.partitions),
                "replication_factor": row.replication_factor,
                "configs": _overridden(settings[row.topic.name]),
                "partitions": [],
            },
        )
        topic["partitions"].append(_object(row))
    return list(found.values())


def _object(row: Row) -> dict[str, Any]:
    state, move = row.state, row.move
    found = {
        "partition": state.index,
        "leader": state.leader,
        "replicas": state.replicas,
        "isr": state.isr,
        "elr": state.elr,
        "last_known_elr": state.last_known_elr,
        "status": STATUSES.get(state.status, state.status),
    }
    if move is not None:
        found |= {"adding": move.adding, "removing": move.removing, "target_replicas": move.target}
    return found


def _maybe(brokers: Collection[int] | None) -> str:
    return "N/A" if brokers is None else ids(brokers)
