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
from controller.cli.plan.running import finish, told_of
from pipeline.amounts import amount
from pipeline.errors import BadInput
from pipeline.stages.waves import WaveSettings
from pipeline.tables.declared import PLAN
from pipeline.tables.files import check_name
from pipeline.verbs.waves import Waves

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
