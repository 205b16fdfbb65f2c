"""`kedge plan collect-files`: snapshots of many clusters from files in a landing folder.

Exit code: 0 done, 1 something is in quarantine, 2 the files of a cluster cannot be used; the others are collected.
"""

from __future__ import annotations

from datetime import UTC, datetime

import click

from controller.cli.audit.engines import Engine
from controller.cli.plan.options import Common, alone, failing, formatted
from controller.cli.plan.running import finish, told_of
from controller.cli.printing import say
from pipeline.collect.landing import Landing
from pipeline.tables.declared import PARTITION
from pipeline.tables.files import Place
from pipeline.tables.location import Location
from pipeline.verbs.collect import Collect


@click.command("collect-files")
@formatted
@click.argument("landing", metavar="LANDING")
@alone
@click.option("--new", is_flag=True, help="Skip snapshots that TABLES already holds.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--dry-run", is_flag=True, help="Read everything and write nothing.")
@click.option("--plain", is_flag=True, help="Show no progress bar. The default where stderr is no terminal.")
def collect_files(
    *, tables: Location, landing: str, engine: Engine, new: bool, as_json: bool, dry_run: bool, plain: bool
) -> None:
    """Take snapshots of many clusters into TABLES from files of other tools.

    LANDING says where the folders are, as landing/{cluster}/{snapshot} or
    s3://bucket/cluster={cluster}/snapshot={snapshot}. Each holds map.json or tree.json, and what is known beside it:
    broker-list, log-dirs, partition-meta, broker-metrics, capacities, prometheus-ID.
    """
    common = Common(tables, None, None, as_json, dry_run, plain, engine, True, True)  # noqa: FBT003
    with failing():
        pattern = Landing(landing)
        found, skipped = pattern.find()
        for folder in skipped:
            say(f"{folder}: skipped, as LANDING does not fit it")

        def wanted(root: Location) -> list[Place]:
            places = [Place(root, cluster, snapshot) for cluster, snapshot in found]
            return [place for place in places if not (new and place.has(PARTITION))]

        said, failed = told_of(common, Collect(pattern, datetime.now(UTC), dry_run), at=wanted)
    finish(common, said, failed=failed)
