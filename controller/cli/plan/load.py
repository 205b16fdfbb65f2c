"""`kedge plan load`: tables that were collected, validated and loaded once more, as when rows were added to them.

Exit code: 0 done, 1 something is in quarantine, 2 a snapshot cannot be read.
"""

from __future__ import annotations

import click

from controller.cli.plan.options import Common, failing, replayed
from controller.cli.plan.running import finish, told_of
from pipeline.verbs.load import Load


@click.command()
@replayed
def load(common: Common) -> None:
    """Validate collected tables, and work out what partitions, brokers and racks hold: `collect` does it already."""
    with failing():
        said, failed = told_of(common, Load(common.dry_run))
    finish(common, said, failed=failed)
