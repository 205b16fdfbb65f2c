"""`kedge plan waves`: what of a plan may be copied at the same time, how fast, and how long it takes.

Exit code: 0 every move is in a wave, 1 some are not, and are told, 2 there is no such plan.
"""

from __future__ import annotations

from typing import Any

import click

from controller.cli.plan.options import Amount, Common, failing, replayed
from controller.cli.plan.running import Said, Stage, Tables, finish, told_of
from controller.cli.plan.saying import amount, counted, reason_rows
from controller.cli.store.progress import Told
from pipeline.stages.waves import REFUSED, WaveSettings
from pipeline.stages.waves import waves as cut
from pipeline.tables.declared import (
    BROKER,
    BROKER_LOAD,
    PARTITION,
    PLAN,
    PLAN_MOVE,
    PLAN_REASON,
    REPLICA_LOAD,
    WAVE,
    WAVE_MOVE,
    WAVE_THROTTLE,
)
from pipeline.tables.files import Place, Wanted, check_name

_DEFAULT = WaveSettings()


@click.command()
@click.option("--name", metavar="NAME", required=True, help="Of the plan.")
@click.option("--per-broker", default=_DEFAULT.per_broker, show_default=True, help="Copies at once.")
@click.option("--one-at-a-time", is_flag=True, help="One new replica of a partition at a time.")
@click.option("--disk-ceiling", default=_DEFAULT.disk_ceiling, show_default=True, help="Of a disk, meanwhile.")
@click.option("--network-share", default=_DEFAULT.network_share, show_default=True, help="Of a network.")
@click.option("--throttle", "throttle_bps", type=Amount(), help="Bytes/s of every broker; default: head-room.")
@replayed
def waves(common: Common, *, name: str, **settings: Any) -> None:
    """Cut a plan into waves that no broker's limits are broken by, with rates and times."""
    with failing():
        chosen = WaveSettings(**settings)
        check_name(name, "--name")

        def here(tables: Tables, _: Told) -> Tables:
            return cut(tables, name, chosen)

        def there(frames: Any) -> Any:
            from pipeline.spark.packed import results  # noqa: PLC0415 - Spark is there, as it is running
            from pipeline.spark.plan import waves as on_spark  # noqa: PLC0415

            return results(on_spark(frames, name, chosen))

        # The table plan is not looked at: NotFound where the plan was never made, or not to its end.
        of_plan, snapshot = [Wanted(PLAN, name), Wanted(PLAN_MOVE, name)], [BROKER, PARTITION, REPLICA_LOAD]
        wanted = [*of_plan, *map(Wanted, snapshot), Wanted(BROKER_LOAD, optional=True)]
        stage = Stage(f"waves of {name}", wanted, here, there)
        said, failed = told_of(common, stage, lambda place, found: _say(common, place, found, name), (PLAN, name))
    finish(common, said, failed=failed)


def _say(common: Common, place: Place, found: Tables, name: str) -> Said:
    if not common.dry_run:
        place.remove(WAVE, name)
        place.write(PLAN_REASON, found[PLAN_REASON.name], f"{name}.{REFUSED}")
        for table in (WAVE_MOVE, WAVE_THROTTLE, WAVE):
            place.write(table, found[table.name], name)
    listed = found[WAVE.name].to_pylist()
    reasons = counted(found[PLAN_REASON.name].column("reason").to_pylist())
    named = {"cluster": place.cluster, "snapshot": place.snapshot} if common.several else {}
    row = {"plan": name, **named, "waves": listed, "reasons": reasons, "written": not common.dry_run}
    shown = [(f"wave {row['wave']}", _words(row)) for row in listed]
    return Said(row, [*shown, *reason_rows("refused", reasons), _total(listed)], 1 if reasons else 0)


def _words(row: dict[str, Any]) -> str:
    peak = "" if row["peak_disk_share"] is None else f", fullest disk {row['peak_disk_share']:.1%}"
    return f"{row['partitions']} partitions, {row['copies']} copies, {amount(row['bytes'])}{peak}{_eta(row)}"


def _eta(row: dict[str, Any]) -> str:
    if row["eta_s"] is None:
        return ", not throttled"
    return f", {row['eta_s']:.0f} s ({row['eta_low_s']:.0f} to {row['eta_high_s']:.0f})"


def _total(listed: list[dict[str, Any]]) -> tuple[str, str]:
    times = [row["eta_s"] for row in listed]
    whole = "" if None in times or not times else f", {sum(times):.0f} s in all"
    return "in all", f"{len(listed)} waves, {amount(sum(row['bytes'] for row in listed))}{whole}"
