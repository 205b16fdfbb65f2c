"""`kedge plan export`: a plan and its waves as files that operators and other tools take, with a manifest.

Exit code: 0 written, 2 there is no such plan, its snapshot was collected anew, or something else stands where the
folder is to be.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from controller.cli.plan.options import Common, engined, failing
from controller.cli.plan.running import Said, Stage, Tables, finish, told_of
from controller.cli.plan.saying import amount
from controller.cli.store.progress import Told
from pipeline.stages.export import export as write
from pipeline.stages.export import files
from pipeline.stages.snapshots import check_same
from pipeline.tables.declared import (
    BROKER,
    PARTITION,
    PLAN,
    PLAN_MOVE,
    PLAN_REASON,
    REDUCTION,
    REPLICA_LOAD,
    WAVE,
    WAVE_MOVE,
    WAVE_THROTTLE,
)
from pipeline.tables.files import Place, Wanted, check_name


@click.command()
@engined
@click.argument("folder", metavar="FOLDER", type=click.Path(file_okay=False))
@click.option("--name", metavar="NAME", required=True, help="Of the plan.")
def export(common: Common, *, folder: str, name: str) -> None:
    """Write a plan into FOLDER: plan.json, waves, throttles, a rollback per wave, a report as a page, a manifest."""
    with failing():
        check_name(name, "--name")
        wanted = [Wanted(table, name) for table in (PLAN, PLAN_MOVE, PLAN_REASON)]
        wanted += [Wanted(table, name, optional=True) for table in (REDUCTION, WAVE, WAVE_MOVE, WAVE_THROTTLE)]
        wanted += [Wanted(table) for table in (BROKER, PARTITION, REPLICA_LOAD)]
        stage = Stage(f"export of {name}", wanted, _here, _there)
        said, failed = told_of(common, stage, lambda place, tables: _say(common, place, tables, folder), (PLAN, name))
    finish(common, said, failed=failed)


def _here(tables: Tables, _: Told) -> Tables:
    check_same(tables)
    return tables


def _there(frames: Any) -> Any:
    from pipeline.spark.packed import results  # noqa: PLC0415 - Spark is there, as it is running
    from pipeline.spark.plan import gathered  # noqa: PLC0415

    return results(gathered(frames))


def _say(common: Common, place: Place, found: Tables, below: str) -> Said:
    from controller.cli.plan.reporting import page_of  # noqa: PLC0415 - plans without a page need not load it

    folder = str(Path(below) / place.cluster) if common.all_clusters else below
    if WAVE.name not in found:  # its table is written last: waves that were not cut to their end are none
        found = {name: rows for name, rows in found.items() if name not in {WAVE_MOVE.name, WAVE_THROTTLE.name}}
    (plan,) = found[PLAN.name].column("plan").to_pylist()
    report = page_of(place, found, plan)
    if common.dry_run:
        sizes = {path: len(data) for path, data in files(found, report).items()}
    else:
        if common.all_clusters:
            Path(below).mkdir(parents=True, exist_ok=True)
        manifest = write(found, Path(folder), cluster=place.cluster, snapshot=place.snapshot, report=report)
        sizes = {path: entry["bytes"] for path, entry in manifest["files"].items()}
    named = {"cluster": place.cluster, "snapshot": place.snapshot} if common.all_clusters else {}
    row = {"plan": plan, **named, "folder": folder, "files": sizes, "written": not common.dry_run}
    unwritten = ", not written" if common.dry_run else ""
    waves = sum(path.startswith("waves/") for path in sizes)
    line = f"{folder}: {len(sizes)} files, {waves} waves, {amount(sum(sizes.values()))}{unwritten}"
    return Said(row, [("export", line)], 0)
