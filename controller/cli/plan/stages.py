"""The stages of a plan that take little to declare: `kedge plan load`, `check`, `waves` and `export`.

Exit code: 0 done; 1 done with findings, which are printed; 2 there is no such snapshot or plan, or it cannot be used.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import click

from controller.cli.kafka import Whole
from controller.cli.plan.options import Common, engined, failing, replayed
from controller.cli.plan.running import finish, told_of
from controller.cli.printing import Amount
from pipeline.amounts import amount
from pipeline.errors import BadInput
from pipeline.stages.arrays import Limits
from pipeline.stages.load import WINDOW_S
from pipeline.stages.validate import AGE_MAX_S
from pipeline.stages.waves import WaveSettings
from pipeline.tables.declared import PLAN
from pipeline.tables.files import check_name
from pipeline.verbs.check import Check
from pipeline.verbs.load import Load
from pipeline.verbs.waves import Waves


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
        said, failed = told_of(common, Waves(name, chosen, common.dry_run, common.several), (PLAN, name))
    finish(common, said, failed=failed)


def _settings(*, throttle_bps: int | None, **more: Any) -> WaveSettings:
    if throttle_bps is not None and throttle_bps < _THROTTLE_MIN:
        problem = f"{throttle_bps} bytes/s is below {amount(_THROTTLE_MIN)}/s"
        raise BadInput(f"--throttle {throttle_bps}: {problem}; is a unit left out, as in {throttle_bps}MB?")
    return WaveSettings(throttle_bps=throttle_bps, **more)


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
