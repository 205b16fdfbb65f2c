"""--progress and --list of `kedge kafka reassign-partitions`: what moves, and how far each replica is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import attrs
import click

from controller.cli.kafka.errors import Failed, dumped
from controller.cli.kafka.values import Description, Move
from controller.cli.printing import clean
from controller.cli.reassign.plan import (
    Plan,
    document,
    replicas_of,
)
from controller.cli.reassign.texts import COMPLETED, IN_PROGRESS, states
from controller.cli.reassign.watching import IN_SYNC, Bar, Row
from controller.model.values import TopicPartition

if TYPE_CHECKING:
    from controller.cli.kafka.cluster import Cluster

_HEADINGS: Final = ("Topic", "Partition", "Broker")
_WIDTHS: Final = (11, 11, 8)  # to the next column, where nothing is wider
_RULE: Final = "-" * 37
_LOOK_S: Final = 1.0
_IDLE_LOOKS_MAX: Final = 2


def show_progress(cluster: Cluster, plan: Plan, *, watch: bool, as_json: bool) -> None:
    """Prints the table; with `watch` a bar first, and the table at the end. Raises Failed if the plan cannot end."""
    if watch:
        _watch(cluster, plan, as_json=as_json)
        return
    found = rows(cluster, plan)
    click.echo(dumped(_object(found)) if as_json else table(found))


def rows(cluster: Cluster, plan: Plan) -> list[Row]:
    """One for each replica that the plan asks for, in its order."""
    look = _Look(cluster, plan)
    return [look.at(tp, broker) for tp, replicas in plan.targets.items() for broker in replicas]


class _Look:
    """What brokers report now; each is asked once, and only if a replica on it is not in sync."""

    def __init__(self, cluster: Cluster, plan: Plan) -> None:
        self._cluster, self._plan = cluster, plan
        self._topics, self._live = cluster.topics(plan.topics), cluster.brokers()
        self._states = {TopicPartition(t.name, p.index): p for t in self._topics.values() for p in t.partitions}
        self._held: dict[int, Description] = {}
        self._ends: dict[int, dict[TopicPartition, int]] = {}

    def at(self, tp: TopicPartition, broker: int) -> Row:
        """How a replica is."""
        state = self._states.get(tp)
        if tp.topic not in self._topics:
            return _row(tp, broker, "Unknown topic")
        if state is None:
            return _row(tp, broker, "Unknown partition")
        if broker not in self._live:
            return _row(tp, broker, "Unknown broker")
        if broker in state.isr:
            return _row(tp, broker, IN_SYNC)
        if broker not in self._held:
            self._held[broker] = self._cluster.log_dirs(broker, self._plan.targets)
        replicas = [replica for replica in self._held[broker].replicas.get(tp, ()) if not replica.is_future]
        if not replicas:
            return _row(tp, broker, "Broker does not host this partition")
        leaders, own = self._end(state.leader, tp), self._end(broker, tp)
        lag = replicas[0].lag if leaders is None or own is None else max(0, leaders - own)
        if lag < 0:
            return _row(tp, broker, "Behind: unknown number of messages")
        return _row(tp, broker, f"Behind: {lag} messages behind", lag)

    def _end(self, broker: int | None, tp: TopicPartition) -> int | None:
        """Where the log of that broker ends; None where it does not say so."""
        if broker not in self._live:
            return None
        if broker not in self._ends:
            self._ends[broker] = self._cluster.end_offsets(broker, self._plan.targets)
        return self._ends[broker].get(tp)


def table(found: list[Row]) -> str:
    """Columns at 0, 11, 22 and 30, wider where names are; a rule of 37 dashes."""
    cells = [_HEADINGS, *((clean(row.topic), str(row.partition), str(row.broker)) for row in found)]
    widths = [max(least, *(len(line[i]) + 2 for line in cells)) for i, least in enumerate(_WIDTHS)]
    statuses = ["Status", *(row.status for row in found)]
    lines = [
        "".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) + status
        for line, status in zip(cells, statuses, strict=True)
    ]
    return "\n".join([lines[0], _RULE, *lines[1:]])


def _watch(cluster: Cluster, plan: Plan, *, as_json: bool) -> None:
    """Until every partition is where the plan wants it, or two looks find nothing that runs: a broker may hear that a
    reassignment has ended a moment after the controller no longer lists it, so one look proves nothing."""
    idle_looks = 0
    with Bar(len(plan.entries)) as bar:
        while True:
            running = cluster.reassignments(plan.entries)
            present = replicas_of(cluster.topics(plan.topics).values())
            now = states(plan, running.keys(), present)
            found = rows(cluster, plan)
            done = {tp for tp, state in now.items() if state == COMPLETED}
            bar.show(found, done)
            idle_looks = 0 if IN_PROGRESS in now.values() else idle_looks + 1
            if len(done) == len(now) or idle_looks == _IDLE_LOOKS_MAX:
                break
            cluster.pause(_LOOK_S)
    click.echo(dumped(_object(found)) if as_json else table(found))
    if len(done) < len(now):
        others = ", ".join(str(tp) for tp in now if tp not in done)
        raise Failed(
            f"no reassignment runs for these partitions, and they are not where the plan wants them: {others}",
            answered=as_json,
        )


def _object(found: list[Row]) -> Mapping[str, object]:
    return {"replicas": [attrs.asdict(row) for row in found], "in_sync": all(row.status == IN_SYNC for row in found)}


def _row(tp: TopicPartition, broker: int, status: str, behind: int | None = None) -> Row:
    return Row(tp.topic, tp.partition, broker, status, behind)


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
