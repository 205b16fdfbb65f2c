"""`kedge plan run POLICY`: every cluster of a fleet, from snapshots to exports and a page, as a policy file says."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Final

import click

from controller.cli.engines import Engine
from controller.cli.options import command, option
from controller.cli.plan.options import Common, alone, failing, output_options
from controller.cli.plan.running import finish, told_of
from controller.cli.printing import folder_problem
from pipeline.errors import BadInput
from pipeline.policy import Fleet, read_policy
from pipeline.report.fleet import fleet_page
from pipeline.tables.files import Place
from pipeline.verbs.run import Run
from pipeline.written import written_as

PAGE: Final = "index.html"


@command("run", example="kedge plan run policy.toml --dry-run")
@click.argument("policy", metavar="POLICY", type=click.Path(dir_okay=False, path_type=Path))
@option("--again", is_flag=True, help="Include clusters that did not change since the last run.")
@output_options
@alone
def run(policy: Path, *, again: bool, as_json: bool, dry_run: bool, plain: bool, engine: Engine) -> None:
    """Check, plan, cut and export every cluster that a policy file names.

    POLICY is a TOML file. It names the tables, the output folder and the goal of each cluster (docs/planning.md). The
    output folder gets an export for each cluster, and index.html.

    Exit code, that of the worst cluster: 0 done; 1 a rule is broken, or a plan does not do all; 2 a cluster or POLICY
    cannot be used.
    """
    with failing():
        fleet = read_policy(policy)
        problem = folder_problem(fleet.out)
        if problem is not None and not dry_run:
            raise BadInput(f"{policy}: out: {problem}")
        common = Common(fleet.tables, None, None, as_json, dry_run, plain, engine, all_clusters=True)
        why: dict[str, str] = {}
        check = partial(_check_clusters, fleet, policy)
        said, failed = told_of(common, Run(fleet, dry_run, again), why=why, check=check)
        if not dry_run:
            page = fleet_page([(one.row, one.code) for one in said], why)
            with written_as(fleet.out / PAGE):
                fleet.out.mkdir(parents=True, exist_ok=True)
                (fleet.out / PAGE).write_text(page, encoding="utf-8")
    finish(common, said, failed=failed)


def _check_clusters(fleet: Fleet, policy: Path, of: Sequence[Place]) -> None:
    there = {place.cluster for place in of}
    for name in sorted(fleet.clusters.keys() - there):
        listed = ", ".join(sorted(there)[:20])
        raise BadInput(f"{policy}: cluster.{name}: {fleet.tables} has no such cluster; it has {listed}")
