"""`kedge plan list`, `show`, `is-empty` and `forget`: what TABLES holds, one plan, what is left on brokers, and the end
of old snapshots."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import attrs
import click

from ....pipeline.amounts import duration
from ....pipeline.cautions import known_amount
from ....pipeline.errors import BadInput
from ....pipeline.tables.declared import PARTITION, PLAN
from ....pipeline.tables.files import Place, check_name, find_snapshots
from ....pipeline.tables.location import Location
from ....pipeline.verbs.compare import Compare
from ....pipeline.verbs.empty import IsEmpty
from ....pipeline.verbs.forget import Forget, old_snapshots
from ....pipeline.verbs.show import Show
from ....pipeline.verbs.verb import Said
from ...model.plural import counted
from ..options import Duration, Whole, command, option
from ..printing import ids, print_pairs, print_rows
from .options import CLUSTER, EVERY_CLUSTER, SINCE, UNTIL, Brokers, Common, choosing, engined, failing
from .running import finish, places, told_of

_DAY_S: Final = 86_400
_PLANS: Final = ("snapshot", "plan", "kind", "partitions", "copies", "complete", "waves", "time")
_NAMES: Final = {"moves": "move", "refused": "refused move", "waves": "wave"}


@command("list", example="kedge plan list tables --since 2026-11")
@choosing(CLUSTER, SINCE, UNTIL, EVERY_CLUSTER, is_of_all=True)
def list_(common: Common) -> None:
    """List the snapshots in TABLES, and the plans of each.

    Prints for each plan what it moves, whether it does all that was requested, and its waves. Nothing is written.

    Exit code: 0 listed; 2 there is no snapshot, or a plan cannot be read.
    """
    with failing():
        results, failed = told_of(common, Compare(None))
    if not common.as_json:
        rows = (row for one in results for row in _listed(one.row, with_cluster=common.all_clusters))
        print_rows(("cluster", *_PLANS) if common.all_clusters else _PLANS, rows)
        sys.exit(2 if failed else 0)
    finish(common, results, failed=failed)


def _listed(row: Mapping[str, Any], *, with_cluster: bool) -> Iterator[tuple[str, ...]]:
    at = (row["cluster"], row["snapshot"]) if with_cluster else (row["snapshot"],)
    if not row["plans"]:
        yield (*at, "none", *[""] * (len(_PLANS) - 2))
    for plan in row["plans"]:
        complete = "yes" if plan["complete"] else "no"
        waves = "" if plan["waves"] is None else str(plan["waves"])
        time = "" if plan["eta_s"] is None else duration(plan["eta_s"])
        copies = known_amount(plan["bytes_copied"])
        yield (*at, plan["plan"], plan["kind"], str(plan["partitions_changed"]), copies, complete, waves, time)


@command("show", example="kedge plan show tables --name drain")
@option("--name", metavar="NAME", required=True, help="Plan to show.")
@option("--rows", "rows_max", type=Whole(min=0), default=20, help="Number of moves, refused moves and waves to show.")
@engined
def show(common: Common, *, name: str, rows_max: int) -> None:
    """Show a plan: its moves, what was refused, and its waves.

    Prints the largest moves first, with their bytes and the numbers of their waves. Nothing is written.

    Exit code: 0 shown; 2 there is no such plan, or it cannot be read.
    """
    with failing():
        check_name(name, "--name")
        results, failed = told_of(common, Show(name, rows_max), (PLAN, name))
    if not common.as_json:
        for one in results:
            _print(one)
        sys.exit(2 if failed else 0)
    finish(common, results, failed=failed)


def _print(one: Said) -> None:
    print_pairs(one.lines)
    if one.row["moves"]:
        print_rows(("move", "replicas", "target", "bytes", "wave"), map(_move, one.row["moves"]))
    for name, more in one.row["more"].items():
        if more:
            click.echo(f"{counted(more, f'more {_NAMES[name]}', ',')}: --rows N shows up to N of them")


def _move(row: Mapping[str, Any]) -> tuple[str, ...]:
    lists = (ids(row[name]) for name in ("replicas", "target_replicas"))
    return (f"{row['topic']}-{row['partition']}", *lists, known_amount(row["bytes"]), ids(row["waves"]))


@command("is-empty", example="kedge plan is-empty tables --brokers 3")
@option("--brokers", type=Brokers(), default=(), none="those in state draining", help="Ids of the brokers to look at.")
@option("--name", metavar="NAME", default="drain", help="Plan since which topics count as new.")
@engined
def is_empty(common: Common, *, brokers: tuple[int, ...], name: str) -> None:
    """Report what is left on brokers that were drained.

    Collect a new snapshot first. Prints the replicas and leaders that it has on the brokers, also of partitions whose
    rows were rejected, and the topics that were created after the plan. Nothing is written.

    Exit code: 0 each broker is empty; 1 one is not, or may not be; 2 the input cannot be used.
    """
    with failing():
        check_name(name, "--name")
        results, failed = told_of(common, IsEmpty(brokers, name))
    finish(common, results, failed=failed)


@command("forget", example="kedge plan forget tables --older-than 90d --dry-run")
@option("--older-than", "age_s", type=Duration(), required=True, help="Time to keep a snapshot, such as 90d.")
@choosing(CLUSTER, EVERY_CLUSTER, writes=True)
def forget(common: Common, *, age_s: float) -> None:
    """Delete old snapshots with their plans.

    The newest snapshot of a cluster is kept, and so are snapshots of unknown age. While partitions are being
    reassigned, snapshots with plans are kept.

    Exit code: 0 deleted; 2 the input cannot be used.
    """
    with failing():
        if age_s < _DAY_S:
            raise BadInput(f"--older-than: expected at least a day, got {duration(age_s)}; did you mean {age_s:g}d?")
        if common.tables.in_spark:
            raise BadInput(f"{common.tables}: only files are deleted; delete rows of a catalog or of Delta by SQL")
        limit = datetime.now(UTC) - timedelta(seconds=age_s)
        many = attrs.evolve(common, all_snapshots=True)
        results, failed = told_of(many, Forget(common.dry_run), at=lambda root: _old(common, root, limit))
    if not (results or failed or common.as_json):
        click.echo(f"no snapshot is older than {duration(age_s)}")
    finish(many, results, failed=failed)


def _old(common: Common, root: Location, limit: datetime) -> list[Place]:
    of = places(attrs.evolve(common, tables=root))
    return [old for at in of for old in old_snapshots(find_snapshots(root, PARTITION, at.cluster), limit)]
