"""`kedge plan waves`: what of a plan may be copied at the same time, how fast, and how long it takes.

Exit code: 0 every move is in a wave, 1 some are not, or a wave does not end in a sane time, and that is told; 2 there
is no such plan, or its snapshot was collected anew.
"""

from __future__ import annotations

from typing import Any, Final

import click

from controller.cli.amounts import Amount
from controller.cli.kafka import Whole
from controller.cli.plan.options import Common, failing, replayed
from controller.cli.plan.running import Said, Stage, Tables, finish, told_of
from controller.cli.plan.saying import amount, counted, reason_rows
from controller.cli.store.progress import Told
from pipeline.amounts import duration
from pipeline.cautions import of_waves, size_words, too_long
from pipeline.errors import BadInput
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

_DEFAULT: Final = WaveSettings()
_COPIES: Final = Whole(max=2**31 - 1)  # that there is one at least is checked with the other settings
_THROTTLE_MIN: Final = 1024  # a broker that copies at less is one of which the unit was left out


@click.command()
@click.option("--name", metavar="NAME", required=True, help="Of the plan.")
@click.option("--per-broker", type=_COPIES, default=_DEFAULT.per_broker, show_default=True, help="Copies at once.")
@click.option("--one-at-a-time", is_flag=True, help="One new replica of a partition at a time.")
@click.option("--disk-ceiling", default=_DEFAULT.disk_ceiling, show_default=True, help="Of a disk, meanwhile.")
@click.option("--network-share", default=_DEFAULT.network_share, show_default=True, help="Of a network.")
@click.option("--throttle", "throttle_bps", type=Amount(), help="Bytes/s of every broker; default: head-room.")
@replayed
def waves(common: Common, *, name: str, **settings: Any) -> None:
    """Cut a plan into waves that no broker's limits are broken by, with rates and times."""
    with failing():
        chosen = _settings(**settings)
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


def _settings(*, throttle_bps: int | None, **more: Any) -> WaveSettings:
    if throttle_bps is not None and throttle_bps < _THROTTLE_MIN:
        problem = f"{throttle_bps} bytes/s is below {amount(_THROTTLE_MIN)}/s"
        raise BadInput(f"--throttle {throttle_bps}: {problem}; is a unit left out, as in {throttle_bps}MB?")
    return WaveSettings(throttle_bps=throttle_bps, **more)


def _say(common: Common, place: Place, found: Tables, name: str) -> Said:
    if not common.dry_run:
        place.remove(WAVE, name)
        place.write(PLAN_REASON, found[PLAN_REASON.name], f"{name}.{REFUSED}")
        for table in (WAVE_MOVE, WAVE_THROTTLE, WAVE):
            place.write(table, found[table.name], name)
    listed = found[WAVE.name].to_pylist()
    reasons = counted(found[PLAN_REASON.name].column("reason").to_pylist())
    named = {"cluster": place.cluster, "snapshot": place.snapshot} if common.several else {}
    minded = of_waves(listed)
    row = {"plan": name, **named, "waves": listed, "reasons": reasons, "mind": minded, "written": not common.dry_run}
    shown = [(f"wave {row['wave']}", _words(row)) for row in listed]
    lines = [*shown, *reason_rows("refused", reasons), *(("mind", text) for text in minded), _total(listed)]
    return Said(row, lines, 1 if reasons or too_long(listed) else 0)


def _words(row: dict[str, Any]) -> str:
    peak = "" if row["peak_disk_share"] is None else f", fullest disk {row['peak_disk_share']:.1%}"
    return f"{row['partitions']} partitions, {row['copies']} copies, {size_words(row['bytes'])}{peak}{_eta(row)}"


def _eta(row: dict[str, Any]) -> str:
    if row["unsized"]:
        return ", time not known"
    if row["eta_s"] is None:
        return ", not throttled"
    return f", {duration(row['eta_s'])} ({duration(row['eta_low_s'])} to {duration(row['eta_high_s'])})"


def _total(listed: list[dict[str, Any]]) -> tuple[str, str]:
    times = [row["eta_s"] for row in listed]
    whole = "" if None in times or not times else f", {duration(sum(times))} in all"
    known = [row["bytes"] for row in listed if row["bytes"] is not None]
    return "in all", f"{len(listed)} waves, {size_words(sum(known) if known or not listed else None)}{whole}"
