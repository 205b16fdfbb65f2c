"""`kedge plan size`: how many brokers a cluster needs, as a table of racks and kinds of brokers."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import Any, Final

import click

from ....pipeline.amounts import amount
from ....pipeline.stages.arrays import Limits
from ....pipeline.verbs.size import Size
from ..options import command, option
from ..printing import ids, print_pairs, print_rows
from .options import CLUSTER, EVERY_CLUSTER, SNAPSHOT, Common, choosing, failing
from .running import finish, told_of

_LIMITS: Final = Limits()
_COLUMNS: Final = ("rack", "kind", "brokers", "load", "for disk", "for network", "needed", "missing")


@command("size", example="kedge plan size tables --disk-share 0.7 --growth 1.2")
@choosing(CLUSTER, SNAPSHOT, EVERY_CLUSTER)
@option("--disk-share", default=_LIMITS.disk_share, help="Share of a disk to fill, at most.")
@option("--network-share", default=_LIMITS.network_share, help="Share of a broker's network to use, at most.")
@option(
    "--growth", type=click.FloatRange(min=0, min_open=True), default=1.0, help="Number that multiplies sizes and rates."
)
@option("--ignore-racks", is_flag=True, help="Count as if no broker had a rack.")
def size(common: Common, *, disk_share: float, network_share: float, growth: float, ignore_racks: bool) -> None:
    """Count the brokers that each rack needs.

    Prints for each rack and each kind of broker, by its capacities, how many brokers of the kind are needed, and how
    many are missing besides those of the rack; then the brokers that could be drained together. Nothing is written.

    Exit code: 0 the brokers suffice; 1 brokers are missing; 2 the input cannot be used.
    """
    with failing():
        verb = Size(Limits(disk_share, network_share), growth, ignore_racks)
        results, failed = told_of(common, verb)
    if common.as_json:
        finish(common, results, failed=failed)
    for one in results:
        _print(one.row, with_cluster=common.all_clusters)
    sys.exit(2 if failed else max((one.code for one in results), default=0))


def _print(row: Mapping[str, Any], *, with_cluster: bool) -> None:
    if with_cluster:
        print_pairs([("cluster", row["cluster"])])
    print_rows(_COLUMNS, (cells for rack in row["racks"] for cells in _cells(rack)))
    go = f"{ids(row['could_go'])}, with {amount(row['bytes_to_move'])} to move" if row["could_go"] else "no broker"
    print_pairs([("could go", go), *(("note", text) for text in row["notes"])])


def _cells(rack: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    for kind in rack["kinds"]:
        counts = (str(kind[name]) for name in ("needed_disk", "needed_network", "needed", "missing"))
        networks = (kind["nw_in_capacity_bps"], kind["nw_out_capacity_bps"])
        speed = "" if None in networks else f", {amount(round(min(networks)))}/s"
        named = f"{amount(kind['disk_capacity_bytes'])}{speed}"
        yield rack["rack"] or "none", named, str(len(kind["brokers"])), amount(rack["bytes"]), *counts
