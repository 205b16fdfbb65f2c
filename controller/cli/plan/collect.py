"""`kedge plan collect`: a snapshot of one cluster, or those of many clusters from files in folders."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import click

from ....pipeline.brokers.endpoint import Brokers, from_brokers
from ....pipeline.collect.gathered import Gathered
from ....pipeline.collect.landing import Landing
from ....pipeline.collect.sources import KINDS, Of, read
from ....pipeline.collect.sources import sources as files_of
from ....pipeline.tables.declared import PARTITION
from ....pipeline.tables.files import Place, check_name
from ....pipeline.tables.location import Location
from ....pipeline.verbs.collect import Collect, Keep
from ....pipeline.verbs.load import Load
from ..engines import LOCAL, SPARK, Engine
from ..extras import need
from ..options import CONNECTION, Moment, command, group, option
from ..printing import confirm, fail, say, without_place
from ..store.opening import bar
from .options import Common, alone, failing, formatted, output_options
from .running import finish, need_spark, told_of

_FILE: Final = click.Path(exists=True, dir_okay=False, allow_dash=False)


@command(
    "collect",
    example="kedge plan collect tables --cluster prod --snapshot monday \\\n    --bootstrap-server broker1:9092",
)
@formatted
@option("--cluster", metavar="ID", none="from --landing", help="Name for the cluster.")
@option("--snapshot", metavar="ID", none="from --landing", help="Name for the snapshot.")
@option(
    "--taken-at",
    metavar="TIME",
    type=Moment(),
    none="now",
    help="When the files were written, such as 2026-11-28T06:00:00Z.",
)
@group(
    "Source (give exactly one)",
    option("--bootstrap-server", metavar="HOST:PORT[,...]", help="Brokers of the cluster."),
    option("--store", metavar="URL", help="Metadata store of the cluster."),
    option("--tree", type=_FILE, help="Recorded keys, as `kedge store dump` writes them."),
    option("--map", type=_FILE, help="Partitions, as kafka-reassign-partitions writes them."),
    option("--landing", metavar="PATTERN", help="Files of many clusters, in a folder for each snapshot."),
    option("--new", is_flag=True, help="With --landing: skip snapshots that TABLES already holds."),
)
@group(
    "More about the cluster",
    option("--broker-list", type=_FILE, help="Brokers by id with their racks, JSON."),
    option("--broker-list-cluster", metavar="NAME", none="that of --cluster", help="Name in a list of clusters."),
    option("--log-dirs", type=_FILE, multiple=True, help="Sizes: output of kafka-log-dirs --describe."),
    option("--partition-meta", type=_FILE, help="Sizes: partition metrics of kafka-kit."),
    option("--broker-metrics", type=_FILE, help="Free disks: broker metrics of kafka-kit."),
    option("--capacities", type=_FILE, help="Capacities: capacity file of Cruise Control."),
    option("--prometheus", metavar="[ID=]FILE", multiple=True, help="Sizes and rates: Prometheus text of a broker."),
)
@option("--command-config", type=_FILE, group=CONNECTION, help="Properties file for TLS, SASL and timeouts.")
@output_options
@alone
def collect(
    *,
    tables: Location,
    engine: Engine,
    cluster: str | None,
    snapshot: str | None,
    landing: str | None,
    new: bool,
    broker_list_cluster: str | None,
    taken_at: int | None,
    as_json: bool,
    dry_run: bool,
    plain: bool,
    **sources: Any,
) -> None:
    """Collect a snapshot of a cluster, from brokers, a store or files.

    Writes it into TABLES, which every other command of `kedge plan` reads, and prints what it holds. Rows that cannot
    be used are rejected: they go to a table of their own.

    PATTERN is a pattern of folders, such as landing/{cluster}/{snapshot} or
    s3://bucket/cluster={cluster}/snapshot={snapshot}. Each folder holds map.json or tree.json, and may hold
    capacities, broker-list, log-dirs, partition-meta, broker-metrics and prometheus-ID.

    Exit code: 0 done; 1 done with rejected rows; 2 the input cannot be used.
    """
    named = {"cluster": cluster, "snapshot": snapshot, "broker_list_cluster": broker_list_cluster, "taken_at": taken_at}
    _check({**sources, **named, "landing": landing}, new=new)
    with failing():
        if cluster is None or snapshot is None:
            assert landing is not None
            many = Common(tables, None, None, as_json, dry_run, plain, engine, all_clusters=True, all_snapshots=True)
            _collect_landing(many, landing, new=new)
            return
        if tables.in_spark:
            need_spark(engine, tables)
        place = Place(tables, check_name(cluster, "--cluster"), check_name(snapshot, "--snapshot"))
        with bar("collecting", shown=not plain):
            gathered = Gathered()
            of = Of(_moment(taken_at), cluster if broker_list_cluster is None else broker_list_cluster)
            consistent = _read(gathered, sources, of)
        load = Load(dry_run, consistent, tuple(gathered.notes), taken_at=of.taken_at)
        one = Common(tables, cluster, snapshot, as_json, dry_run, plain, SPARK if tables.in_spark else LOCAL)
        results, failed = told_of(one, Keep(load, gathered.tables()), at=lambda _: [place])
    finish(one, results, failed=failed)


def _check(given: Mapping[str, Any], *, new: bool) -> None:
    """Raises UsageError where options do not fit."""
    if sum(given[name] is not None for name in ("store", "bootstrap_server", "tree", "map", "landing")) != 1:
        raise click.UsageError("give exactly one of --store, --bootstrap-server, --tree, --map and --landing")
    if given["landing"] is not None:
        if strange := [name for name, value in given.items() if name != "landing" and value not in (None, ())]:
            raise click.UsageError(f"--landing and --{strange[0].replace('_', '-')} exclude each other")
    elif new or given["cluster"] is None or given["snapshot"] is None:
        raise click.UsageError("--new needs --landing; all other sources need --cluster and --snapshot")
    for name, needed in (("command_config", "bootstrap_server"), ("broker_list_cluster", "broker_list")):
        if given[name] is not None and given[needed] is None:
            raise click.UsageError(f"--{name.replace('_', '-')} needs --{needed.replace('_', '-')}")


def _moment(at_ms: int | None) -> datetime:
    return datetime.now(UTC) if at_ms is None else datetime.fromtimestamp(at_ms / 1000, UTC)


def _read(into: Gathered, sources: dict[str, Any], of: Of) -> bool | None:
    """Take in every source, those that name brokers first; whether a store showed one instant."""
    consistent = None
    if sources["store"] is not None:
        consistent = _read_store(sources["store"], into)
    if sources["bootstrap_server"] is not None:
        _read_cluster(sources["bootstrap_server"], sources["command_config"], into)
    files = {kind: _names(sources[kind.replace("-", "_")]) for kind in KINDS}
    read(files_of(files), into, of)
    return consistent


def _names(named: str | tuple[str, ...] | None) -> Sequence[str]:
    return named if isinstance(named, tuple) else [named] if named is not None else []


def _read_store(url: str, into: Gathered) -> bool:
    from ....pipeline.collect.store import from_store  # noqa: PLC0415
    from ....stores import StoreError, public_url  # noqa: PLC0415
    from ..store.opening import READ_ALL_S, opened  # noqa: PLC0415 - as above

    with opened(url) as store:
        try:
            return from_store(store, public_url(url), into, timeout_s=READ_ALL_S)
        except StoreError as error:
            fail(f"{public_url(url)}: cannot be read: {without_place(error)}")


def _read_cluster(servers: str, config_file: str | None, into: Gathered) -> None:
    need("wire")
    from_brokers(Brokers(servers, None if config_file is None else Path(config_file)), into)


def _collect_landing(common: Common, landing: str, *, new: bool) -> None:
    pattern = Landing(landing)
    found, skipped = pattern.find()
    for folder in skipped:
        say(f"{folder}: skipped, because its name does not match --landing")

    def wanted(root: Location) -> list[Place]:
        places = [Place(root, cluster, snapshot) for cluster, snapshot in found]
        return [place for place in places if not (new and place.has(PARTITION))]

    results, failed = told_of(common, Collect(pattern, common.dry_run), at=wanted)
    if not (results or failed or common.as_json):
        confirm(f"no snapshot is new: {common.tables} has all {len(found)} of {landing}")
    finish(common, results, failed=failed)
