"""`kedge plan compute-load`, `validate`, `waves` and `export`, and `apply-policy`, which does all of it for a fleet."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Final

import attrs
import click

from ....pipeline.amounts import amount
from ....pipeline.errors import BadInput
from ....pipeline.policy import Fleet, read_policy
from ....pipeline.policy_places import at as line_of
from ....pipeline.report.fleet import fleet_page
from ....pipeline.stages.arrays import Limits
from ....pipeline.stages.usable import LoadSettings
from ....pipeline.stages.waves import WaveSettings
from ....pipeline.stages.windows import STATISTICS
from ....pipeline.tables.declared import PLAN
from ....pipeline.tables.files import Place, check_name
from ....pipeline.tables.location import Location
from ....pipeline.verbs.check import Check
from ....pipeline.verbs.load import Load
from ....pipeline.verbs.run import Run
from ....pipeline.verbs.waves import Waves
from ....pipeline.written import written_as
from ..engines import Engine
from ..options import Amount, Moment, Whole, command, option
from ..printing import folder_problem
from .options import Common, alone, engined, failing, min_racks, output_options, replayed
from .running import finish, places, told_of

_LOADS: Final = LoadSettings()
_GROWTH: Final = click.FloatRange(min=0, min_open=True)


@command("compute-load", example="kedge plan compute-load tables --samples-age 3600")
@option(
    "--samples-age",
    metavar="SECONDS",
    type=click.FloatRange(min=0),
    default=_LOADS.age_max_s,
    help="Seconds that a sample may be older than the snapshot.",
)
@option(
    "--taken-at",
    metavar="TIME",
    type=Moment(),
    none="samples of any age count",
    help="When a snapshot without a time of its own was taken.",
)
@option(
    "--window",
    metavar="SECONDS",
    type=click.IntRange(min=1),
    default=_LOADS.window_s,
    help="Seconds of a window, whose samples are averaged.",
)
@option(
    "--statistic",
    type=click.Choice(STATISTICS),
    default=_LOADS.statistic,
    help="Statistic of the windows that is the rate.",
)
@option("--growth", metavar="FACTOR", type=_GROWTH, default=_LOADS.growth, help="Number that multiplies all rates.")
@replayed
def compute_load(
    common: Common, *, samples_age: float, taken_at: int | None, window: int, statistic: str, growth: float
) -> None:
    """Validate collected tables, and compute the load of each replica.

    `kedge plan collect` does this already; use it after other options or changed tables. Rows that cannot be used are
    rejected: they are moved to a table of their own.

    Exit code: 0 done; 1 done with findings, which are printed; 2 the input cannot be used.
    """
    with failing():
        moment = None if taken_at is None else datetime.fromtimestamp(taken_at / 1000, UTC)
        settings = LoadSettings(window, statistic, growth, samples_age, moment)
        results, failed = told_of(common, Load(common.dry_run, settings=settings))
    finish(common, results, failed=failed)


_LIMITS: Final = Limits()


@command("validate", example="kedge plan validate tables --factor 3")
@option("--factor", type=click.IntRange(1), none="each topic's largest", help="Count of replicas wanted.")
@option("--disk-share", default=_LIMITS.disk_share, help="Share of a disk that may be full.")
@option("--network-share", default=_LIMITS.network_share, help="Share of a broker's network that may be in use.")
@min_racks()
@option("--ignore-racks", is_flag=True, help="Check as if no broker had a rack.")
@replayed
def validate(common: Common, *, factor: int | None, disk_share: float, network_share: float, **racks: Any) -> None:
    """Check a snapshot: racks, replication factors, dead brokers.

    Prints each rule that the snapshot breaks: also full disks, busy networks, leaders that are not preferred, and
    replicas that are not in sync.

    Exit code: 0 no rule is broken; 1 violations, which are printed; 2 the input cannot be used.
    """
    with failing():
        verb = Check(Limits(disk_share, network_share), factor, dry_run=common.dry_run, **racks)
        results, failed = told_of(common, verb)
    finish(common, results, failed=failed)


_DEFAULT: Final = WaveSettings()
_COPIES: Final = Whole(max=2**31 - 1)  # that there is one at least is checked with the other settings
_THROTTLE_MIN: Final = 1024  # a broker that copies at less is one of which the unit was left out


@command("waves", example="kedge plan waves tables --name drain --throttle 50MB")
@option("--name", metavar="NAME", required=True, help="Plan to cut.")
@option("--throttle", "throttle_bps", type=Amount(), none="the free network", help="Bytes per second of a broker.")
@option("--disk-rate", "disk_rate_bps", type=Amount(), none="no limit", help="Bytes per second that a disk can write.")
@option(
    "--per-broker", type=_COPIES, metavar="N", default=_DEFAULT.per_broker, help="Count of copies at once on a broker."
)
@option("--one-at-a-time", is_flag=True, help="Add the new replicas of a partition one by one.")
@option("--disk-ceiling", default=_DEFAULT.disk_ceiling, help="Share of a disk that may be full meanwhile.")
@option("--network-share", default=_DEFAULT.network_share, help="Share of a broker's network to use.")
@replayed
def waves(common: Common, *, name: str, **settings: Any) -> None:
    """Cut a plan into waves that respect the limits of each broker.

    Prints the waves with their rates and expected times, and stores them in TABLES for `kedge plan export`.

    Exit code: 0 done; 1 done with findings, which are printed; 2 the input cannot be used.
    """
    with failing():
        chosen = _settings(**settings)
        check_name(name, "--name")
        results, failed = told_of(common, Waves(name, chosen, common.dry_run, common.several), (PLAN, name))
    finish(common, results, failed=failed)


def _settings(*, throttle_bps: int | None, disk_rate_bps: int | None, **more: Any) -> WaveSettings:
    for name, rate in (("--throttle", throttle_bps), ("--disk-rate", disk_rate_bps)):
        if rate is not None and rate < _THROTTLE_MIN:
            problem = f"expected at least {amount(_THROTTLE_MIN)}/s"
            raise BadInput(f"{name} {rate}: {problem}; did you mean {rate}MB?")
    return WaveSettings(throttle_bps=throttle_bps, disk_rate_bps=disk_rate_bps, **more)


@command("export", example="kedge plan export tables plan --name drain")
@option("--name", metavar="NAME", required=True, help="Plan to export.")
@engined
@click.argument("folder", metavar="FOLDER", type=click.Path(file_okay=False))
def export(common: Common, *, folder: str, name: str) -> None:
    """Write a plan as JSON files of Kafka, with a rollback for each wave.

    FOLDER gets plan.json, the waves with their throttles and rollbacks, a report as an HTML page, and a manifest. Give
    it to `kedge plan submit`, or the waves one by one to kafka-reassign-partitions.sh.

    Exit code: 0 written; 1 written with findings, which are printed; 2 the input cannot be used.
    """
    from ....pipeline.verbs.export import Export  # noqa: PLC0415 - commands that draw no page need not load it

    with failing():
        check_name(name, "--name")
        verb = Export(name, Path(folder), common.dry_run, common.all_clusters)
        results, failed = told_of(common, verb, (PLAN, name))
    finish(common, results, failed=failed)


PAGE: Final = "index.html"


@command("apply-policy", example="kedge plan apply-policy policy.toml --dry-run")
@click.argument("policy", metavar="POLICY", type=click.Path(dir_okay=False, path_type=Path))
@option("--force", "again", is_flag=True, help="Include clusters that did not change since the last run.")
@output_options
@alone
def apply_policy(policy: Path, *, again: bool, as_json: bool, dry_run: bool, plain: bool, engine: Engine) -> None:
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
        at = partial(_clusters, common, fleet, policy)
        results, failed = told_of(common, Run(fleet, dry_run, again), at=at, why=why)
        if not dry_run:
            page = fleet_page([(one.row, one.code) for one in results], why)
            with written_as(fleet.out / PAGE):
                fleet.out.mkdir(parents=True, exist_ok=True)
                (fleet.out / PAGE).write_text(page, encoding="utf-8")
    finish(common, results, failed=failed)


def _clusters(common: Common, fleet: Fleet, policy: Path, root: Location) -> list[Place]:
    """Those that there are. Raises BadInput where the policy names another one."""
    found = places(attrs.evolve(common, tables=root))
    there = {place.cluster for place in found}
    for name in sorted(fleet.clusters.keys() - there):
        listed = ", ".join(sorted(there)[:20])
        where = line_of(policy, ["cluster", name])
        raise BadInput(f"{where}: cluster.{name}: {fleet.tables} has no such cluster; it has {listed}")
    return found
