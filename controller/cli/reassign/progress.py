"""--progress and --list of `kedge kafka reassign-partitions`: what moves, how far each replica is, and the bar."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Final, Self

import attrs
import click
from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, TextColumn, TimeElapsedColumn
from rich.table import Column

from ...model.copying import Copies, Copy, slowest, together
from ...model.values import TopicPartition
from ..copying import copied, described
from ..kafka.errors import Failed, dumped
from ..kafka.values import Description, LogDir, Move
from ..printing import clean, ids, is_quiet
from .plan import Plan, document, replicas_of
from .verify import COMPLETED, IN_PROGRESS, Request, states

if TYPE_CHECKING:
    from ..kafka.cluster import Cluster

IN_SYNC: Final = "In sync"
_ROOM_FOR_A_BAR: Final = 72  # columns of a terminal
_ROOM_FOR_ALL: Final = 110
_Replica = tuple[str, int, int]
_HEADINGS: Final = ("Topic", "Partition", "Broker")
_WIDTHS: Final = (11, 11, 8)  # to the next column, where nothing is wider
_RULE: Final = "-" * 37
_LOOK_S: Final = 1.0
_IDLE_LOOKS_MAX: Final = 2


@attrs.frozen
class Row:
    """`behind`: messages, of a replica that is not in sync."""

    topic: str
    partition: int
    broker: int
    status: str
    behind: int | None = None


class Bar:
    """`with Bar(len(entries)) as bar:` shown on stderr while it is a terminal, and gone at the end."""

    def __init__(self, partitions: int) -> None:
        self._partitions = partitions
        console = Console(stderr=True)
        told = TextColumn("{task.percentage:>3.0f}% {task.description}", table_column=Column(no_wrap=True))
        columns: tuple[ProgressColumn, ...] = (told,)
        self._is_wide = console.width >= _ROOM_FOR_A_BAR
        self._has_room_for_all = console.width >= _ROOM_FOR_ALL
        if self._is_wide:
            columns = (told, BarColumn(bar_width=None), TimeElapsedColumn())
        is_hidden = is_quiet() or not console.is_terminal
        self._progress = Progress(*columns, console=console, transient=True, expand=True, disable=is_hidden)
        self._task = self._progress.add_task("reading the plan", total=100)

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def show(self, copies: Mapping[_Replica, Copy], done: Collection[TopicPartition]) -> None:
        """How far the copies are now; `done`: the partitions that are where the plan wants them."""
        whole, all_ = together(copies.values()), self._partitions
        share = (whole.copied or 0) / whole.to_copy if whole.to_copy else len(done) / all_
        percent = 100 if len(done) == all_ else min(99, int(100 * share))
        text = [f"{len(done)} of {all_} done"]
        if self._is_wide:
            text.append(described(whole, whole.remaining_s) if self._has_room_for_all else copied(whole))
        if self._has_room_for_all and (late := slowest(copies)) is not None:
            text.append(f"slowest {late[0]}-{late[1]}")
        self._progress.update(self._task, completed=percent, description=clean(", ".join(filter(None, text))))


def show_progress(cluster: Cluster, request: Request) -> None:
    if request.watch:
        _watch(cluster, request.the_plan, as_json=request.as_json)
        return
    found = Look(cluster, request.the_plan).rows()
    click.echo(dumped(_object(found)) if request.as_json else table(found))


class Look:
    """What brokers report now; each is request once, and only if a replica on it is not in sync."""

    def __init__(self, cluster: Cluster, plan: Plan) -> None:
        self._cluster, self._plan = cluster, plan
        self._topics, self._live = cluster.topics(plan.topics), cluster.brokers()
        self._states = {TopicPartition(t.name, p.index): p for t in self._topics.values() for p in t.partitions}
        self._held: dict[int, Description] = {}
        self._ends: dict[int, dict[TopicPartition, int]] = {}

    def rows(self) -> list[Row]:
        return [self._row(tp, broker) for tp, replicas in self._plan.targets.items() for broker in replicas]

    def _row(self, tp: TopicPartition, broker: int) -> Row:
        state = self._states.get(tp)
        if tp.topic not in self._topics:
            return _row(tp, broker, "Unknown topic")
        if state is None:
            return _row(tp, broker, "Unknown partition")
        if broker not in self._live:
            return _row(tp, broker, "Unknown broker")
        if broker in state.isr:
            return _row(tp, broker, IN_SYNC)
        replica = self._replica(tp, broker)
        if replica is None:
            return _row(tp, broker, "Broker does not host this partition")
        leaders, own = self._end(state.leader, tp), self._end(broker, tp)
        lag = replica.lag if leaders is None or own is None else max(0, leaders - own)
        if lag < 0:
            return _row(tp, broker, "Behind: unknown number of messages")
        return _row(tp, broker, f"Behind: {lag} messages behind", lag)

    def copying(self, running: Mapping[TopicPartition, Move]) -> dict[_Replica, tuple[int | None, int | None]]:
        """By new replica of these moves, its size and that of the leader in bytes."""
        return {
            (tp.topic, tp.partition, broker): (self.size(tp, broker), self.whole(tp))
            for tp, move in running.items()
            for broker in move.adding
        }

    def whole(self, tp: TopicPartition) -> int | None:
        """Bytes of the partition, as its leader has them; None where that is unknown."""
        state = self._states.get(tp)
        return None if state is None or state.leader is None else self.size(tp, state.leader)

    def size(self, tp: TopicPartition, broker: int) -> int | None:
        """Bytes of the replica, 0 where the broker has none; None where that is unknown."""
        if broker not in self._live:
            return None
        replica = self._replica(tp, broker)
        return 0 if replica is None else replica.size if replica.size >= 0 else None

    def _replica(self, tp: TopicPartition, broker: int) -> LogDir | None:
        if broker not in self._held:
            self._held[broker] = self._cluster.log_dirs(broker, self._plan.targets)
        return next((replica for replica in self._held[broker].replicas.get(tp, ()) if not replica.is_future), None)

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
    copies: Copies[_Replica] = Copies()
    with Bar(len(plan.entries)) as bar:
        while True:
            running = cluster.reassignments(plan.entries)
            present = replicas_of(cluster.topics(plan.topics).values())
            now = states(plan, running.keys(), present)
            look = Look(cluster, plan)
            found = look.rows()
            done = {tp for tp, state in now.items() if state == COMPLETED}
            bar.show(copies.read(time.monotonic_ns() // 1_000_000, look.copying(running)), done)
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


def list_moves(cluster: Cluster, request: Request) -> None:
    moves = cluster.reassignments()
    if not request.as_text:
        click.echo(dumped(document({tp: move.target for tp, move in moves.items()})))
    elif moves:
        lines = [_line(tp, move) for tp, move in moves.items()]
        click.echo("\n".join(["Current partition reassignments:", *lines]))
    else:
        click.echo("No partition reassignments found.")


def _line(tp: TopicPartition, move: Move) -> str:
    adding = f" adding: {ids(move.adding)}." if move.adding else ""
    removing = f" removing: {ids(move.removing)}." if move.removing else ""
    return f"{tp}: replicas: {ids(move.replicas)}.{adding}{removing}"
