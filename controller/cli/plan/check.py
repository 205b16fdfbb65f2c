"""`kedge plan check`: the violation report of a snapshot, as a table and in short.

Exit code: 0 nothing breaks a rule, 1 something does, 2 the snapshot cannot be read.
"""

from __future__ import annotations

from typing import Final

import click

from controller.cli.plan.options import Common, failing, replayed
from controller.cli.plan.running import finish, told_of
from pipeline.stages.arrays import Limits
from pipeline.verbs.check import Check

_LIMITS: Final = Limits()


@click.command()
@click.option("--factor", type=click.IntRange(1), help="The replication factor wanted; default: each topic's largest.")
@click.option("--disk-share", default=_LIMITS.disk_share, show_default=True, help="Of a disk that may be full.")
@click.option("--network-share", default=_LIMITS.network_share, show_default=True, help="Of a network, likewise.")
@click.option("--ignore-racks", is_flag=True, help="Look at it as if there were no racks.")
@replayed
def check(common: Common, *, factor: int | None, disk_share: float, network_share: float, ignore_racks: bool) -> None:
    """Say which rules a snapshot breaks: racks, factors, dead brokers, capacities, leaders, in-sync replicas."""
    with failing():
        verb = Check(Limits(disk_share, network_share), factor, ignore_racks, common.dry_run)
        said, failed = told_of(common, verb)
    finish(common, said, failed=failed)
