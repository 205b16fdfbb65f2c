"""`kedge plan compare`: plans of several snapshots side by side, such as those of other options on old snapshots."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Final

import attrs

from ....pipeline.amounts import duration
from ....pipeline.cautions import known_amount, ratio_words
from ....pipeline.errors import NotFound
from ....pipeline.stages.compare import differing, total_of
from ....pipeline.tables.files import Place, check_name
from ....pipeline.tables.location import Location
from ....pipeline.verbs.compare import Compare
from ...model.plural import counted
from ..options import command, option
from ..printing import print_pairs, print_rows
from .options import CLUSTER, EVERY_CLUSTER, SINCE, UNTIL, Common, choosing, failing, snapshot_option
from .running import places, say_json, told_of

_COLUMNS: Final = (
    "snapshot",
    "plan",
    "partitions",
    "copies",
    "bound",
    "balance of bytes",
    "balance of leaders",
    "refused",
    "waves",
    "time",
)
_BOTH: Final = "{:.4f} to {:.4f}"


@command("compare", example="kedge plan compare tables --name drain --since 2026-11")
@option("--name", "names", metavar="NAME", multiple=True, required=True, help="Plan to compare; may be repeated.")
@choosing(CLUSTER, snapshot_option(none="all with such a plan"), SINCE, UNTIL, EVERY_CLUSTER, is_of_all=True)
def compare(common: Common, *, names: tuple[str, ...]) -> None:
    """Compare the plans of earlier snapshots.

    Prints for each snapshot and plan what it moves, how balanced the brokers are before and after, and how long its
    waves take; then the options in which the plans differ. Nothing is written.

    Exit code: 0 compared; 2 no snapshot has such a plan, or a snapshot cannot be read.
    """
    named = tuple(dict.fromkeys(names))
    with failing():
        for name in named:
            check_name(name, "--name")
        rows, failed = _rows(common, named)
    totals = [total_of(of) for name in named if (of := [row for row in rows if row["plan"] == name])]
    differ = differing(rows)
    if common.as_json:
        whose = {} if common.all_clusters else {"cluster": rows[0]["cluster"]}
        say_json({**whose, "plans": rows, "totals": totals, "settings": differ})
    else:
        _print(rows, totals, with_cluster=common.all_clusters)
        if differ:
            print_pairs((setting, "; ".join(map(_value, of.items()))) for setting, of in differ.items())
    if failed:
        sys.exit(2)


def _rows(common: Common, names: tuple[str, ...]) -> tuple[list[dict[str, Any]], bool]:
    """A row per snapshot and plan, in their order, and whether a snapshot cannot be read. NotFound where a plan is in
    no snapshot."""
    of: list[Place] = []

    def at(root: Location) -> list[Place]:
        of[:] = places(attrs.evolve(common, tables=root))
        return of

    results, failed = told_of(common, Compare(names), at=at)
    found: list[dict[str, Any]] = [row for one in results for row in one.row["plans"]]
    missing = [name for name in names if all(row["plan"] != name for row in found)]
    if missing:
        where = f"snapshot {of[0].snapshot}" if common.snapshot else f"any of {counted(len(of), 'snapshot')}"
        whose = "of any cluster" if common.all_clusters else f"of cluster {of[0].cluster}"
        raise NotFound(f"{common.tables}: no plan {', '.join(missing)} in {where} {whose}")
    return found, failed


def _print(rows: Sequence[Mapping[str, Any]], totals: Sequence[Mapping[str, Any]], *, with_cluster: bool) -> None:
    in_all = [{**total, "cluster": "", "snapshot": counted(total["snapshots"], "snapshot")} for total in totals]
    listed = ((*([row["cluster"]] if with_cluster else []), *_cells(row)) for row in (*rows, *in_all))
    print_rows(("cluster", *_COLUMNS) if with_cluster else _COLUMNS, listed)


def _cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    return (
        row["snapshot"],
        row["plan"],
        str(row["partitions_changed"]),
        known_amount(row["bytes_copied"]),
        known_amount(row["bytes_bound"]),
        ratio_words(row["size_max_mean_before"], row["size_max_mean_after"], _BOTH),
        ratio_words(row["leaders_max_mean_before"], row["leaders_max_mean_after"], _BOTH),
        str(row["rejected"]),
        "" if row["waves"] is None else str(row["waves"]),
        "" if row["eta_s"] is None else duration(row["eta_s"]),
    )


def _value(of: tuple[str, Sequence[Any]]) -> str:
    plan, values = of
    return f"{plan}: {', '.join(_word(value) for value in values)}"


def _word(value: Any) -> str:
    if value is None or value == []:
        return "none"
    return value if isinstance(value, str) else json.dumps(value)
