"""`kedge plan compare`: plans side by side, of every snapshot that has them: the past, and what other settings would
have made of it.

Exit code: 0 compared, 2 there is no such plan in any snapshot. Nothing is written.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

import attrs
import click

from controller.cli.plan.options import Common, failing, since, until
from controller.cli.plan.running import places
from controller.cli.plan.saying import say, say_json
from controller.cli.printing import print_rows
from pipeline.amounts import duration
from pipeline.cautions import known_amount, ratio_words
from pipeline.errors import BadInput, NotFound
from pipeline.stages.compare import differing, row_of, total_of
from pipeline.tables.declared import PLAN, WAVE
from pipeline.tables.files import check_name
from pipeline.tables.location import Location

_COLUMNS: Final = (
    "snapshot",
    "plan",
    "partitions",
    "copies",
    "bound",
    "bytes, max/mean",
    "leaders, max/mean",
    "refused",
    "waves",
    "time",
)
_BOTH: Final = "{:.4f} to {:.4f}"


@click.command()
@click.argument("tables", metavar="TABLES", type=click.Path(file_okay=False))
@click.option("--name", "names", metavar="NAME", multiple=True, required=True, help="Of a plan; may be given again.")
@click.option("--cluster", metavar="ID", help="Of the tables; needed where there are several.")
@click.option("--snapshot", metavar="ID", help="Of the tables; default: every one that has a plan of that name.")
@since
@until
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def compare(tables: str, *, names: tuple[str, ...], as_json: bool, **where: str | None) -> None:
    """Compare plans of past snapshots: what each moves, what comes of it, how long its waves take."""
    with failing():
        for name in names:
            check_name(name, "--name")
        rows = _rows(_common(Location(tables), **where), tuple(dict.fromkeys(names)))
    totals = [total_of(of) for name in dict.fromkeys(names) if (of := [row for row in rows if row["plan"] == name])]
    differ = differing(rows)
    if as_json:
        say_json({"cluster": rows[0]["cluster"], "plans": rows, "totals": totals, "settings": differ})
        return
    _print(rows, totals)
    if differ:
        say((setting, "; ".join(map(_value, of.items()))) for setting, of in differ.items())


def _common(
    tables: Location, cluster: str | None, snapshot: str | None, since: str | None, until: str | None
) -> Common:
    """Which snapshots are meant, as the commands say it that plan."""
    if snapshot is not None and (since is not None or until is not None):
        raise BadInput("either --snapshot, or --since and --until")
    every = snapshot is None
    plain = Common(tables, cluster, snapshot, as_json=False, dry_run=True, plain=True, all_snapshots=every)
    return attrs.evolve(plain, since=since, until=until)


def _rows(common: Common, names: Sequence[str]) -> list[dict[str, Any]]:
    """A row per snapshot and plan, in their order. NotFound where a plan is in no snapshot."""
    found = []
    of = places(common)
    for place in of:
        for name in names:
            if place.has(PLAN, name):
                wave = place.read(WAVE, name) if place.has(WAVE, name) else None
                named = {"cluster": place.cluster, "snapshot": place.snapshot}
                found.append({**named, **row_of(place.read(PLAN, name), wave)})
    missing = [name for name in names if all(row["plan"] != name for row in found)]
    if missing:
        where = f"snapshot {of[0].snapshot}" if common.snapshot else f"any of {len(of)} snapshots"
        raise NotFound(f"{common.tables}: no plan {', '.join(missing)} in {where} of cluster {of[0].cluster}")
    return found


def _print(rows: Sequence[Mapping[str, Any]], totals: Sequence[Mapping[str, Any]]) -> None:
    in_all = [{**total, "snapshot": f"{total['snapshots']} snapshots"} for total in totals]
    print_rows(_COLUMNS, (_cells(row) for row in (*rows, *in_all)))


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
