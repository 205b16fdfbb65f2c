"""`kedge plan run POLICY`: what a policy wants of every cluster of a fleet, from snapshots to exports and a page.

Exit code: that of the worst cluster: 0 nothing is to be told, 1 a rule is broken or something that was asked for is in
no plan, 2 a cluster or the policy cannot be used.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Final

import click

from controller.cli.audit.engines import Engine
from controller.cli.plan.options import Common, alone, failing
from controller.cli.plan.running import finish, told_of
from controller.cli.printing import folder_problem
from pipeline.errors import BadInput
from pipeline.policy import Fleet, read_policy
from pipeline.report.fleet import fleet_page
from pipeline.tables.files import Place
from pipeline.verbs.run import Run
from pipeline.written import written_as

PAGE: Final = "index.html"


@click.command()
@click.argument("policy", metavar="POLICY", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--again", is_flag=True, help="Also what did not change since the last run.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
@click.option("--dry-run", is_flag=True, help="Say what would come of it, and write nothing.")
@click.option("--plain", is_flag=True, help="No progress bar; so it is, too, where stderr is no terminal.")
@alone
def run(policy: Path, *, again: bool, as_json: bool, dry_run: bool, plain: bool, engine: Engine) -> None:
    """Check, plan, cut into waves and export every cluster as POLICY, a file of TOML, wants it."""
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
        raise BadInput(f"{policy}: cluster.{name}: {fleet.tables} holds no such cluster; it holds {listed}")
