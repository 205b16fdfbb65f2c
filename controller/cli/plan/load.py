"""`kedge plan load`: tables that were collected, validated and loaded once more, as when rows were added to them.

Exit code: 0 done, 1 something is in quarantine, 2 a snapshot cannot be read.
"""

from __future__ import annotations

import click

from controller.cli.plan.options import Common, failing, replayed
from controller.cli.plan.running import finish, told_of
from pipeline.stages.load import WINDOW_S
from pipeline.stages.validate import AGE_MAX_S
from pipeline.verbs.load import Load


@click.command()
@click.option(
    "--samples-age",
    metavar="SECONDS",
    type=click.FloatRange(min=0),
    default=AGE_MAX_S,
    show_default=True,
    help="Take out samples that are older than the newest by more.",
)
@click.option(
    "--window",
    metavar="SECONDS",
    type=click.IntRange(min=1),
    default=WINDOW_S,
    show_default=True,
    help="Length of the windows of samples; a rate is the mean over windows.",
)
@replayed
def load(common: Common, *, samples_age: float, window: int) -> None:
    """Validate collected tables, and work out what partitions, brokers and racks hold: `collect` does it already."""
    with failing():
        said, failed = told_of(common, Load(common.dry_run, age_max_s=samples_age, window_s=window))
    finish(common, said, failed=failed)
