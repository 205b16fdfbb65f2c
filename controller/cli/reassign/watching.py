"""--verify, and the bar of `--progress --watch`, which shows how much of what a plan copies has been copied."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Final, Self

import attrs
import click
from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, TextColumn, TimeElapsedColumn
from rich.table import Column

from controller.cli.kafka.errors import dumped
from controller.cli.printing import confirming, is_quiet
from controller.cli.reassign import throttling
from controller.cli.reassign.execute import dir_states
from controller.cli.reassign.plan import Plan, replicas_of
from controller.cli.reassign.texts import described, states, text
from controller.model.values import TopicPartition

if TYPE_CHECKING:
    from controller.cli.kafka.cluster import Cluster

IN_SYNC: Final = "In sync"
_ROOM_FOR_A_BAR: Final = 72  # columns of a terminal
_Replica = tuple[str, int, int]


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
        self._most: dict[_Replica, int] = {}
        console = Console(stderr=True)
        told = TextColumn("{task.percentage:>3.0f}% {task.description}", table_column=Column(no_wrap=True))
        columns: tuple[ProgressColumn, ...] = (told,)
        self._is_wide = console.width >= _ROOM_FOR_A_BAR
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

    def show(self, found: Sequence[Row], done: Collection[TopicPartition]) -> None:
        """What is found now; `done`: the partitions that are where the plan wants them."""
        all_, behind = self._partitions, sum(row.behind or 0 for row in found)
        percent = 100 if len(done) == all_ else min(99, int(100 * self._share(found, done)))
        text = f"{len(done)} of {all_} done, {behind} behind"
        if self._is_wide:
            messages = "1 message" if behind == 1 else f"{behind} messages"
            text = f"{len(done)} of {all_} partitions done, {messages} behind"
        self._progress.update(self._task, completed=percent, description=text)

    def _share(self, found: Sequence[Row], done: Collection[TopicPartition]) -> float:
        """Each partition counts as much as any other. Of one that is not done: what its replicas have of what they were
        seen to lack at most. One of which nothing is there yet lacks all."""
        shares: defaultdict[TopicPartition, list[float]] = defaultdict(list)
        for row in found:
            tp, replica = TopicPartition(row.topic, row.partition), (row.topic, row.partition, row.broker)
            if tp in done or (row.status == IN_SYNC and replica not in self._most):
                continue
            most = self._most[replica] = max(self._most.get(replica, 0), row.behind or 0)
            lacks = most if row.behind is None and row.status != IN_SYNC else row.behind or 0
            shares[tp].append(1 - lacks / most if most else float(row.status == IN_SYNC))
        return (len(done) + sum(sum(each) / len(each) for each in shares.values())) / self._partitions


def verify(cluster: Cluster, plan: Plan, *, preserve_throttles: bool, as_json: bool) -> None:
    """Prints the state of the plan. Throttles are removed if nothing moves in the whole cluster, between brokers or
    directories."""
    running = cluster.reassignments()
    present = replicas_of(cluster.topics(plan.topics).values())
    found = states(plan, running.keys(), present)
    lines, dirs_move = dir_states(cluster, plan.dirs) if plan.dirs else ([], False)
    clears = not running and not dirs_move and not preserve_throttles
    if not as_json:
        click.echo(text(plan, found, present))
        click.echo("\n".join(lines))
    if clears:
        throttling.clear(cluster, plan.topics, {broker for _, broker in plan.dirs}, confirming(as_json=as_json))
    if as_json:
        answer = {"partitions": described(plan, found, present), "log_dirs": lines, "throttles_cleared": clears}
        click.echo(dumped(answer))
