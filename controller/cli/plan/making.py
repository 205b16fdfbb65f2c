"""`kedge plan drain|add|rebalance|fix-racks|set-rf|reduce-partitions|leaders`: a plan of a snapshot, as tables.

* The tables of a plan bear its name; making it again replaces them, and takes away the waves of the former one. The
  table `plan` is written last: without it there is no plan.
* Exit code: 0 everything that was asked for is in the plan, 1 something is not, and is told, 2 it cannot be asked.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from controller.cli.amounts import Amount
from controller.cli.plan.options import Brokers, Common, NewBrokers, failing, replayed
from controller.cli.plan.running import Said, Stage, Tables, finish, told_of
from controller.cli.plan.saying import counted, reason_rows
from controller.cli.store.progress import Told
from controller.cli.writable import file_problem, folder_problem
from pipeline.cautions import copied_words, of_plan, ratio_words
from pipeline.errors import BadInput
from pipeline.stages.arrays import Limits
from pipeline.stages.export import plan_json
from pipeline.stages.plan import plan
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
    settings_of,
)
from pipeline.stages.waves import REFUSED
from pipeline.tables.arrow import Arrow
from pipeline.tables.declared import (
    BROKER,
    PARTITION,
    PLAN,
    PLAN_MOVE,
    PLAN_REASON,
    REDUCTION,
    REPLICA_LOAD,
    TABLES,
    WAVE,
    WAVE_MOVE,
    WAVE_THROTTLE,
)
from pipeline.tables.files import Place, Wanted, check_name
from pipeline.written import written_as

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
        plans, pages = Files("--out", out, "json", common), Files("--report", report, "html", common)
        settings: dict[str, Any] = {"limits": Limits(disk_share, network_share), "ignore_racks": ignore_racks}

        def here(tables: Tables, told: Told) -> Tables:
            return plan(tables, request, name=named, told=told, **settings)

        def there(frames: Any) -> Any:
            from pipeline.spark.packed import results  # noqa: PLC0415 - Spark is there, as it is running
            from pipeline.spark.plan import plan as on_spark  # noqa: PLC0415

            return results(on_spark(frames, request, name=named, **settings))

        def use(place: Place, found: Tables) -> Said:
            if not common.dry_run:
                _write(place, found, named)
                plans.write(place, lambda: plan_json(found[PLAN_MOVE.name]))
                pages.write(place, lambda: _page(place, found, named).encode())
            return _say(common, place, found)

        wanted = [Wanted(table) for table in (BROKER, PARTITION, REPLICA_LOAD)]
        said, failed = told_of(common, Stage(f"planning {named}", wanted, here, there), use)
    finish(common, said, failed=failed)


class Files:
    """Where something goes beside the tables: a file, or a folder with one per cluster; with --all-snapshots that is a
    folder per cluster, with one per snapshot."""

    def __init__(self, option: str, path: str | None, suffix: str, common: Common) -> None:
        """BadInput where it cannot be written: found here, before any table is."""
        self._path = None if path is None else Path(path)
        self._suffix = suffix
        self._common = common
        problem = None if self._path is None else self._problem(self._path)
        if problem is not None:
            raise BadInput(f"{option} {problem}")

    def _problem(self, path: Path) -> str | None:
        if not self._common.several:
            return file_problem(path)
        replaced = sorted(path.glob(f"**/*.{self._suffix}"))
        problems = (problem for file in replaced if (problem := file_problem(file)) is not None)
        return folder_problem(path) or next(problems, None)

    def write(self, place: Place, content: Callable[[], bytes]) -> None:
        """`content` is asked for only where something goes."""
        if self._path is None:
            return
        name = f"{place.cluster}/{place.snapshot}" if self._common.all_snapshots else place.cluster
        path = self._path / f"{name}.{self._suffix}" if self._common.several else self._path
        data = content()
        with written_as(path):
            if self._common.several:
                path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)


def _page(place: Place, found: dict[str, Arrow], name: str) -> str:
    from controller.cli.plan.reporting import page_of  # noqa: PLC0415 - whoever asks for no page need not load it

    return page_of(place, found, name)


def _write(place: Place, found: dict[str, Arrow], name: str) -> None:
    for table in (PLAN, WAVE, WAVE_MOVE, WAVE_THROTTLE, REDUCTION):
        place.remove(table, name)
    place.remove(PLAN_REASON, f"{name}.{REFUSED}")
    for table_name in sorted(found, key=lambda table_name: table_name == PLAN.name):
        place.write(TABLES[table_name], found[table_name], name)


def _say(common: Common, place: Place, found: dict[str, Arrow]) -> Said:
    (row,) = found[PLAN.name].to_pylist()
    reasons = counted(found[PLAN_REASON.name].column("reason").to_pylist())
    reductions = found[REDUCTION.name].to_pylist() if REDUCTION.name in found else []
    minded = of_plan(row)
    more = {"settings": settings_of(row), "reasons": reasons, "reductions": reductions, "mind": minded}
    written = {"cluster": place.cluster, "snapshot": place.snapshot, "written": not common.dry_run}
    lines = _rows(row, place, dry_run=common.dry_run) + _reductions(reductions) + reason_rows("refused", reasons)
    lines += [("mind", text) for text in minded]
    return Said({**row, **more, **written}, lines, 0 if row["complete"] else 1)


def _rows(row: dict[str, Any], place: Place, *, dry_run: bool) -> list[tuple[str, str]]:
    unwritten = ", not written" if dry_run else ""
    return [
        ("plan", f"{row['plan']} of {place.cluster}, snapshot {place.snapshot}{unwritten}"),
        ("changes", f"{row['partitions_changed']} partitions, {row['replicas_copied']} replicas copied"),
        ("copies", copied_words(row)),
        *(
            (f"{what}, max/mean", ratio_words(*(row[f"{column}_max_mean_{when}"] for when in ("before", "after"))))
            for what, column in (("bytes", "size"), ("leaders", "leaders"))
        ),
    ]


def _reductions(rows: list[dict[str, Any]]) -> list[tuple[str, str]]:
    keyed = "keyed data may sit in two partitions for a while, and the partition of a key will change"
    shown = [("shrinks", f"{row['topic']}: {row['partitions']} to {row['total_count']}") for row in rows[:50]]
    more = [("shrinks", f"and {len(rows) - 50} more topics")] if len(rows) > 50 else []
    return [*shown, *more, ("mind", keyed)] if rows else []
