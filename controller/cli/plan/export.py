"""`kedge plan export`: a plan and its waves as files that operators and other tools take, with a manifest.

Exit code: 0 written, 2 there is no such plan, its snapshot was collected anew, or something else stands where the
folder is to be.
"""

from __future__ import annotations

from pathlib import Path

import click

from controller.cli.plan.options import Common, engined, failing
from controller.cli.plan.running import finish, told_of
from pipeline.tables.declared import PLAN
from pipeline.tables.files import check_name


@click.command()
@engined
@click.argument("folder", metavar="FOLDER", type=click.Path(file_okay=False))
@click.option("--name", metavar="NAME", required=True, help="Of the plan.")
def export(common: Common, *, folder: str, name: str) -> None:
    """Write a plan into FOLDER: plan.json, waves, throttles, a rollback per wave, a report as a page, a manifest."""
    from pipeline.verbs.export import Export  # noqa: PLC0415 - commands that draw no page need not load it

    with failing():
        check_name(name, "--name")
        verb = Export(name, Path(folder), common.dry_run, common.all_clusters)
        said, failed = told_of(common, verb, (PLAN, name))
    finish(common, said, failed=failed)
