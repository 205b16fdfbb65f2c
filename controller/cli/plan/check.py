"""`kedge plan check`: the violation report of a snapshot, as a table and in short.

Exit code: 0 nothing breaks a rule, 1 something does, 2 the snapshot cannot be read.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

import click

from controller.cli.plan.options import Common, failing, replayed
from controller.cli.plan.running import Said, Stage, Tables, finish, told_of
from controller.cli.store.progress import Told
from pipeline.cautions import of_check
from pipeline.stages.arrays import Limits
from pipeline.stages.check import check as violations
from pipeline.tables.arrow import Arrow, empty
from pipeline.tables.declared import BROKER, PARTITION, QUARANTINE, REPLICA_LOAD, VIOLATION
from pipeline.tables.files import Place, Wanted

_SHOWN_MAX: Final = 50
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
        settings: dict[str, Any] = {
            "limits": Limits(disk_share, network_share),
            "factor": factor,
            "ignore_racks": ignore_racks,
        }
        wanted = [Wanted(BROKER), Wanted(PARTITION), *(Wanted(t, optional=True) for t in (REPLICA_LOAD, QUARANTINE))]

        def here(tables: Tables, _: Told) -> Tables:
            return {VIOLATION.name: violations(tables, **settings)}

        def there(frames: Any) -> Any:
            from pipeline.spark import check as on_spark  # noqa: PLC0415 - Spark is there, as it is running

            found = on_spark.violations(on_spark.check(frames, **settings))
            return {
                key: {VIOLATION.name: rows} if not isinstance(rows, Exception) else rows for key, rows in found.items()
            }

        stage = Stage("checking", wanted, here, there, native=True, nothing={VIOLATION.name: empty(VIOLATION)})
        said, failed = told_of(common, stage, lambda place, tables: _say(common, place, tables[VIOLATION.name]))
    finish(common, said, failed=failed)


def _say(common: Common, place: Place, table: Arrow) -> Said:
    if not common.dry_run:
        place.write(VIOLATION, table)
    found = table.to_pylist()
    counts = dict(sorted(Counter(row["kind"] for row in found).items()))
    shown = [(row["kind"], _words(row)) for row in found[:_SHOWN_MAX]]
    more = [("and", f"{len(found) - _SHOWN_MAX} more in table violation")] if len(found) > _SHOWN_MAX else []
    totals = ", ".join(f"{count} {kind}" for kind, count in counts.items()) or "nothing breaks a rule"
    named = {"cluster": place.cluster, "snapshot": place.snapshot}
    minded = _minded(place)
    row = {**named, "counts": counts, "violations": found, "mind": minded}
    return Said(row, [*shown, *more, *(("mind", text) for text in minded), ("found", totals)], 1 if found else 0)


def _minded(place: Place) -> list[str]:
    """What no violation can tell: that a capacity was held against nothing."""
    brokers = place.read(BROKER)
    loads = place.read(REPLICA_LOAD) if place.has(REPLICA_LOAD) else None
    count = place.read(PARTITION).num_rows if loads is None else 0

    def unknown(column: str) -> int:
        return count if loads is None else loads[column].null_count

    def has(*columns: str) -> bool:
        return any(brokers[column].null_count < brokers.num_rows for column in columns)

    return of_check(
        unsized=unknown("size_bytes"),
        unrated=unknown("write_bps"),
        has_disks=has("disk_capacity_bytes"),
        has_networks=has("nw_in_capacity_bps", "nw_out_capacity_bps"),
    )


def _words(row: dict[str, Any]) -> str:
    parts = []
    if row["topic"] is not None:
        parts.append(f"{row['topic']}-{row['partition']}")
    if row["broker_id"] is not None:
        parts.append(f"broker {row['broker_id']}")
    if row["kind"] == "LEADER_ORDER":
        place = int(row["observed"])  # 0: of none, since the first would be no finding
        leader = f"replica {place + 1} of its row" if place else "a broker that is not in its row"
        return f"{parts[0]}: led by {leader}, the first is to lead (the preferred leader)"
    when = "" if row["when"] == "now" else ", if all its replicas led"
    return f"{', '.join(parts)}: {row['observed']:g}, limit {row['limit']:g} {row['unit']}{when}"
