"""`kedge plan drain|add|rebalance|fix-racks|set-rf|reduce-partitions|leaders`: a plan of a snapshot, as tables.

Exit code: 0 everything that was asked for is in the plan, 1 something is not, and is told, 2 it cannot be asked.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from controller.cli.plan.options import Brokers, Common, NewBrokers, failing, replayed
from controller.cli.plan.running import finish, told_of
from controller.cli.printing import Amount, file_problem, folder_problem
from pipeline.errors import BadInput
from pipeline.stages.arrays import Limits
from pipeline.stages.requests import (
    KINDS,
    TOLERANCE,
    Add,
    Drain,
    FixRacks,
    Leaders,
    Rebalance,
    ReducePartitions,
    Request,
    SetFactor,
)
from pipeline.tables.files import check_name
from pipeline.verbs.plan import Plan
from pipeline.verbs.verb import Output

_T = TypeVar("_T", bound=Callable[..., Any])
_LIMITS: Final = Limits()


def _making(command: _T) -> _T:
    """The options that every plan has."""
    wrapped: Any = command
    for decorate in reversed(
        (
            click.option("--name", metavar="NAME", help="Of the plan; default: what is asked for."),
            click.option("--out", metavar="FILE", type=click.Path(), help="Write plan.json there, too."),
            click.option("--report", metavar="FILE", type=click.Path(), help="Write a page with plots there."),
            click.option("--disk-share", default=_LIMITS.disk_share, show_default=True, help="Of a disk, at most."),
            click.option("--network-share", default=_LIMITS.network_share, show_default=True, help="Of a network."),
            click.option("--ignore-racks", is_flag=True, help="Plan as if there were no racks."),
        )
    ):
        wrapped = decorate(wrapped)
    found: _T = replayed(wrapped)
    return found


_tolerance = click.option("--tolerance", default=TOLERANCE, show_default=True, help="Above the mean, and level.")
_max_bytes = click.option("--max-bytes", "bytes_max", type=Amount(), help="Copy no more than that.")
_topics = click.option("--topics", metavar="A,B", help="These topics; default: all.")


@click.command()
@click.option("--brokers", type=Brokers(), default=(), help="Default: the brokers whose state is draining.")
@_making
def drain(common: Common, *, brokers: tuple[int, ...], **options: Any) -> None:
    """Empty brokers: every replica on them goes elsewhere."""
    _make(common, lambda: Drain(brokers), **options)


@click.command()
@click.option("--brokers", type=NewBrokers(), required=True, help="The new ones; with the rack where it is not known.")
@_tolerance
@_max_bytes
@_making
def add(common: Common, *, brokers: Any, tolerance: float, bytes_max: int | None, **options: Any) -> None:
    """Level bytes onto new brokers, until none is above the mean by more than the tolerance."""
    _make(common, lambda: Add(brokers, tolerance, bytes_max), **options)


@click.command()
@_tolerance
@_max_bytes
@_making
def rebalance(common: Common, *, tolerance: float, bytes_max: int | None, **options: Any) -> None:
    """Level bytes over all brokers, until none is above the mean by more than the tolerance."""
    _make(common, lambda: Rebalance(tolerance, bytes_max), **options)


@click.command("fix-racks")
@_making
def fix_racks(common: Common, **options: Any) -> None:
    """Spread partitions over racks where two replicas share one without need."""
    _make(common, FixRacks, **options)


@click.command("set-rf")
@click.option("--factor", type=int, required=True, help="Replicas of every partition.")
@_topics
@_making
def set_rf(common: Common, *, factor: int, topics: str | None, **options: Any) -> None:
    """Give partitions another number of replicas."""
    _make(common, lambda: SetFactor(factor, _split(topics)), **options)


@click.command("reduce-partitions")
@click.option("--partition-bytes-max", type=Amount(), required=True, help="Of a partition afterwards.")
@click.option("--partition-rate-max", type=Amount(), required=True, help="Bytes per second of a partition afterwards.")
@_topics
@_making
def reduce_partitions(
    common: Common, *, partition_bytes_max: int, partition_rate_max: int, topics: str | None, **options: Any
) -> None:
    """Say which topics can do with fewer partitions, and with how many (KIP-694)."""
    _make(common, lambda: ReducePartitions(partition_bytes_max, partition_rate_max, _split(topics)), **options)


@click.command()
@_making
def leaders(common: Common, **options: Any) -> None:
    """Even out preferred leaders by order alone: nothing is copied."""
    _make(common, Leaders, **options)


MAKING: Final[tuple[click.Command, ...]] = (
    add,
    drain,
    fix_racks,
    leaders,
    rebalance,
    reduce_partitions,
    set_rf,
)


def _split(topics: str | None) -> tuple[str, ...]:
    return tuple(topics.split(",")) if topics else ()


def _make(
    common: Common,
    asked: Callable[[], Request],
    *,
    name: str | None,
    out: str | None,
    report: str | None,
    disk_share: float,
    network_share: float,
    ignore_racks: bool,
) -> None:
    with failing():
        request = asked()
        if common.all_snapshots and name is None and not common.dry_run:
            raise BadInput("--all-snapshots needs --name or --dry-run: what was planned of them then is kept")
        named = KINDS[type(request)] if name is None else name
        check_name(named, "--name")  # a bad name is found before the work
        plans, pages = _output("--out", out, "json", common), _output("--report", report, "html", common)
        limits = Limits(disk_share, network_share)
        verb = Plan(named, request, limits, ignore_racks, common.dry_run, plans, pages)
        said, failed = told_of(common, verb)
    finish(common, said, failed=failed)


def _output(option: str, path: str | None, suffix: str, common: Common) -> Output | None:
    """BadInput where it cannot be written: found here, before any table is."""
    if path is None:
        return None
    found = Output(Path(path), suffix, common.several, common.all_snapshots)
    problem = _problem(found) if common.several else file_problem(found.path)
    if problem is not None:
        raise BadInput(f"{option} {problem}")
    return found


def _problem(folder: Output) -> str | None:
    replaced = sorted(folder.path.glob(f"**/*.{folder.suffix}"))
    problems = (problem for file in replaced if (problem := file_problem(file)) is not None)
    return folder_problem(folder.path) or next(problems, None)
