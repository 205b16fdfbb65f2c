"""The commands of `kedge plan` that make a plan of a snapshot: drain, fill-brokers, rebalance, balance-disks,
fix-racks, set-replication-factor, reduce-partitions, balance-leaders and demote. Each writes the plan as tables, and
prints its changes.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from ....pipeline.errors import BadInput
from ....pipeline.stages.arrays import Limits
from ....pipeline.stages.choice import Choice
from ....pipeline.stages.requests import (
    KINDS,
    TOLERANCE,
    Add,
    BalanceDisks,
    Demote,
    Drain,
    FixRacks,
    Leaders,
    Rebalance,
    ReducePartitions,
    Request,
    SetFactor,
    Undo,
)
from ....pipeline.tables.files import check_name
from ....pipeline.verbs.plan import Plan
from ....pipeline.verbs.verb import Output
from ...model.numerals import items
from ..options import OUTPUT, Amount, Command, command, option
from ..printing import file_problem, folder_problem
from .options import BROKER_OPTIONS, RACK_OPTIONS, TOPIC_OPTIONS, Brokers, Common, NewBrokers, failing, replayed
from .running import finish, told_of

_T = TypeVar("_T", bound=Callable[..., Any])
_LIMITS: Final = Limits()


_COPYING: Final = (*TOPIC_OPTIONS, *BROKER_OPTIONS, *RACK_OPTIONS)


_AFTER: Final = (
    "Prints what the plan changes, and stores it in TABLES for `kedge plan {}`.\n\n"
    "Exit code: 0 the plan does all of it; 1 a part is not possible, and is printed; 2 the input cannot be used."
)


def _making(command: _T, choosing: Sequence[Callable[[Any], Any]] = _COPYING) -> _T:
    wrapped: Any = replayed(command)
    for decorate in (
        *choosing[::-1],
        option("--report", metavar="FILE", type=click.Path(), group=OUTPUT, none="none", help="HTML page with plots."),
        option("--out", metavar="FILE", type=click.Path(), group=OUTPUT, none="none", help="File for plan.json."),
        option("--ignore-racks", is_flag=True, help="Plan as if no broker had a rack."),
        option("--network-share", default=_LIMITS.network_share, help="Share of a broker's network to use, at most."),
        option("--disk-share", default=_LIMITS.disk_share, help="Share of a disk to fill, at most."),
        option("--name", metavar="NAME", none="that of the command", help="Name of the plan."),
    ):
        wrapped = decorate(wrapped)
    found: _T = wrapped
    return found


_tolerance = option("--tolerance", default=TOLERANCE, help="Share above the mean that counts as balanced.")
_max_bytes = option("--max-bytes", "bytes_max", type=Amount(), none="no limit", help="Bytes to copy, at most.")
_reducing: Final = partial(_making, choosing=TOPIC_OPTIONS)
_reordering: Final = partial(_making, choosing=(*TOPIC_OPTIONS, *BROKER_OPTIONS))


@command("drain", example="kedge plan drain tables --brokers 3")
@option("--brokers", type=Brokers(), default=(), none="those in state draining", help="Brokers to empty.")
@_making
def drain(common: Common, *, brokers: tuple[int, ...], **options: Any) -> None:
    """Plan to move every replica away from some brokers.

    The other brokers take the replicas, with as few bytes copied as possible.
    """
    _make(common, lambda: Drain(brokers), **options)


@command("fill-brokers", example="kedge plan fill-brokers tables --new-brokers 7:a,8:b --max-bytes 500GB")
@option(
    "--new-brokers",
    "brokers",
    type=NewBrokers(),
    required=True,
    help="New brokers, with the rack where TABLES lacks it.",
)
@_tolerance
@_max_bytes
@_making
def fill_brokers(common: Common, *, brokers: Any, tolerance: float, bytes_max: int | None, **options: Any) -> None:
    """Plan to move bytes to new brokers.

    Replicas move to them until no broker holds more than the mean and the tolerance.
    """
    _make(common, lambda: Add(brokers, tolerance, bytes_max), **options)


@command("rebalance", example="kedge plan rebalance tables --by bytes,network-in,network-out,leaders")
@_tolerance
@_max_bytes
@option(
    "--by", metavar="A,B", default="bytes", help="What to balance: bytes, networks, leaders, replicas, those of topics."
)
@option(
    "--max-replicas-per-broker",
    "replicas_max",
    type=int,
    none="no limit",
    help="Number of replicas of a broker, at most.",
)
@option(
    "--max-leaders-per-broker", "leaders_max", type=int, none="no limit", help="Number of leaders of a broker, at most."
)
@_making
def rebalance(
    common: Common,
    *,
    tolerance: float,
    bytes_max: int | None,
    by: str,
    replicas_max: int | None,
    leaders_max: int | None,
    **options: Any,
) -> None:
    """Plan to balance bytes, networks or counts over all brokers.

    Brokers above a capacity are repaired first. Then leaders change and replicas move until no broker has more than the
    mean and the tolerance.
    """
    _make(common, lambda: Rebalance(tolerance, bytes_max, tuple(items(by)), replicas_max, leaders_max), **options)


@command("balance-disks", example="kedge plan balance-disks tables --brokers 3")
@option("--brokers", type=Brokers(), default=(), none="all with several directories", help="Brokers to balance.")
@_tolerance
@_making
def balance_disks(common: Common, *, brokers: tuple[int, ...], tolerance: float, **options: Any) -> None:
    """Plan to balance bytes over the log directories of each broker.

    Replicas move to other directories of their broker until none holds more than the mean and the tolerance.
    kafka-reassign-partitions.sh runs the exported plan.json.
    """
    _make(common, lambda: BalanceDisks(brokers, tolerance), **options)


@command("fix-racks", example="kedge plan fix-racks tables")
@_making
def fix_racks(common: Common, **options: Any) -> None:
    """Plan to spread the replicas of each partition over racks.

    Only partitions change that have two replicas in one rack although another rack is free.
    """
    _make(common, FixRacks, **options)


@command(
    "set-replication-factor", example="kedge plan set-replication-factor tables --factor 3 --topics orders,payments"
)
@option("--factor", type=int, required=True, help="Count of replicas of every partition.")
@_making
def set_replication_factor(common: Common, *, factor: int, **options: Any) -> None:
    """Plan another replication factor.

    Replicas are added where racks and disks allow it, or removed.
    """
    _make(common, lambda: SetFactor(factor), **options)


@command(
    "reduce-partitions",
    example="kedge plan reduce-partitions tables \\\n    --partition-bytes-max 50GB --partition-rate-max 10MB",
)
@option("--partition-bytes-max", type=Amount(), required=True, help="Bytes of a partition afterwards, at most.")
@option("--partition-rate-max", type=Amount(), required=True, help="Bytes per second of a partition, at most.")
@_reducing
def reduce_partitions(common: Common, *, partition_bytes_max: int, partition_rate_max: int, **options: Any) -> None:
    """Plan which topics can do with fewer partitions.

    Prints for each topic the smallest number of partitions within the limits (KIP-694).
    """
    _make(common, lambda: ReducePartitions(partition_bytes_max, partition_rate_max), **options)


@command("balance-leaders", example="kedge plan balance-leaders tables")
@_reordering
def balance_leaders(common: Common, **options: Any) -> None:
    """Plan to balance preferred leaders without moving data.

    Only the order of replicas changes, so no bytes are copied.
    """
    _make(common, Leaders, **options)


@command("demote", example="kedge plan demote tables --brokers 3")
@option("--brokers", type=Brokers(), default=(), none="none", help="Brokers that stop being preferred leaders.")
@option("--undo", metavar="NAME", none="none", help="Plan without copies, whose order of replicas is put back.")
@_reordering
def demote(common: Common, *, brokers: tuple[int, ...], undo: str | None, **options: Any) -> None:
    """Plan to take preferred leaders away from some brokers, or to give them back.

    Only the order of replicas changes, so no bytes are copied.
    """
    _make(common, lambda: _demotion(brokers, undo), **options)


def _demotion(brokers: tuple[int, ...], undo: str | None) -> Request:
    if bool(brokers) == (undo is not None):
        raise BadInput("give one of --brokers and --undo")
    return Demote(brokers) if undo is None else Undo(check_name(undo, "--undo"))


MAKING: Final[tuple[Command, ...]] = (
    balance_disks,
    balance_leaders,
    demote,
    drain,
    fill_brokers,
    fix_racks,
    rebalance,
    reduce_partitions,
    set_replication_factor,
)
for _one in MAKING:
    _next = "export" if _one is balance_disks else "waves"
    _one.help = f"{inspect.cleandoc(_one.help or '')}\n\n{_AFTER.format(_next)}"


def _make(
    common: Common,
    request_of: Callable[[], Request],
    *,
    name: str | None,
    out: str | None,
    report: str | None,
    disk_share: float,
    network_share: float,
    ignore_racks: bool,
    **choice: Any,
) -> None:
    with failing():
        request, chosen = request_of(), Choice(**choice)
        if common.all_snapshots and name is None and not common.dry_run:
            raise BadInput("--all-snapshots needs --name or --dry-run, so that it does not replace the plans of then")
        named = KINDS[type(request)] if name is None else name
        check_name(named, "--name")  # a bad name is found before the work
        plans, pages = _output("--out", out, "json", common), _output("--report", report, "html", common)
        limits = Limits(disk_share, network_share)
        verb = Plan(named, request, limits, ignore_racks, common.dry_run, plans, pages, chosen)
        results, failed = told_of(common, verb)
    finish(common, results, failed=failed)


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
