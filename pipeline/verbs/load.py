"""`kedge plan collect` and `compute-load`: validates collected tables, and computes the loads of partitions and
brokers.

The validated rows go into tables of their own, `broker_valid` and `partition_valid`: what was collected, or written by
another program, stays as it is, so that doing it again gives the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, ClassVar, Final

import attrs

from ...controller.model.plural import counted
from ..amounts import amount
from ..cautions import of_capacities, of_log_dirs
from ..stages.load import averaged, load
from ..stages.usable import RATES, LoadSettings
from ..stages.validate import of_sources, validate
from ..tables.arrow import Arrow, empty, from_rows
from ..tables.declared import (
    BROKER,
    BROKER_DEFAULT,
    BROKER_LOAD,
    BROKER_SAMPLE,
    LOG_DIR,
    MEASURES,
    PARTITION,
    RACK_LOAD,
    REJECTED_ROWS,
    REPLICA_LOAD,
    REPLICA_SAMPLE,
    SNAPSHOT_TIME,
)
from ..tables.files import Place, Wanted, wanted
from ..tables.rejects import rejected_counts
from ..tables.whole import write_tables
from .saying import reason_counts, reason_rows
from .verb import Said, Tables, Told

_MADE: Final = (REJECTED_ROWS, REPLICA_LOAD, BROKER_LOAD, RACK_LOAD, LOG_DIR, BROKER, PARTITION)


@attrs.frozen
class Load:
    """Reads the collected tables, writes `broker_valid` and `partition_valid`, `rejected_rows`, and the loads.
    `consistent`: whether they come from one instant, if known. `notes`: sentences on how the sources were read.
    `taken_at`: of tables that are collected now, which are written, too. The samples of replicas are read in batches,
    or come reduced from Spark; they are never changed."""

    dry_run: bool = False
    consistent: bool | None = None
    notes: tuple[str, ...] = ()
    settings: LoadSettings = attrs.field(factory=LoadSettings)
    taken_at: datetime | None = None

    title: ClassVar[str] = "loading"
    wanted: ClassVar[Sequence[Wanted]] = (
        *wanted(BROKER, PARTITION, raw=True),
        *wanted(BROKER_DEFAULT, *MEASURES, REJECTED_ROWS, optional=True),
    )

    def reduces(self, _: str) -> LoadSettings | None:
        """How it reduces the samples of a cluster's replicas; None: it does not."""
        return self.settings

    def run(self, place: Place, given: Tables, _: Told) -> Said:
        """Exit code 1 if rows are rejected."""
        if self.taken_at is not None:
            given = {**given, SNAPSHOT_TIME.name: from_rows(SNAPSHOT_TIME, [(self.taken_at,)])}
        if "rejected_rows" in given:
            given = {**given, "rejected_rows": of_sources(given["rejected_rows"])}
        earlier = _samples(place) if self.taken_at is None else {}
        found = validate({**earlier, **given})
        found |= load(found, self.settings)
        if not self.dry_run:
            self._write(place, given, found)
        reasons = reason_counts(rejected_counts(found["rejected_rows"]))
        said = {
            **place.named,
            "brokers": found["broker"].num_rows,
            "partitions": found["partition"].num_rows,
            "bytes": _bytes(found),
            "request_p99_ms": _slowest(found.get("broker_sample", empty(BROKER_SAMPLE))),
            **_known(found["replica_load"]),
            "averaged": averaged(found),
            "consistent": self.consistent,
            "rejected_rows": reasons,
            "notes": [*self.notes, *_of_disks(found), *self._of_times(found)],
            "written": not self.dry_run,
        }
        return Said(said, _lines(said), 1 if reasons else 0)

    def _of_times(self, found: Tables) -> list[str]:
        is_sampled = {RATES.name, REPLICA_SAMPLE.name, BROKER_SAMPLE.name} & found.keys()
        is_known = SNAPSHOT_TIME.name in found
        if self.settings.taken_at is not None:
            used = "--taken-at is not used, since the time of the snapshot is known (table snapshot_time)"
            return [used] if is_known else []
        unknown = "when the snapshot was taken is not known (--taken-at), so samples of any age count"
        return [unknown] if is_sampled and not is_known else []

    def _write(self, place: Place, given: Tables, found: Tables) -> None:
        if self.taken_at is not None:
            write_tables(place, {name: rows for name, rows in given.items() if name != REJECTED_ROWS.name})
        write_tables(place, {table.name: found[table.name] for table in _MADE if table.name in found})


def _samples(place: Place) -> Tables:
    """The samples of replicas: a function that reads them, or what Spark has reduced them to."""
    if place.root.in_spark:
        return {RATES.name: place.read(RATES)} if place.has(RATES) else {}
    return {REPLICA_SAMPLE.name: place.batches} if place.has(REPLICA_SAMPLE) else {}


def _of_disks(found: Tables) -> list[str]:
    brokers = found["broker"].to_pylist()
    log_dirs = found["log_dir"].to_pylist() if "log_dir" in found else []
    return of_capacities(brokers) + of_log_dirs(brokers, log_dirs)


def _slowest(samples: Arrow) -> dict[str, float]:
    """For each measured kind of request the time of the slowest broker."""
    names = [name for name in BROKER_SAMPLE.names if name.endswith("_p99_ms")]
    times = {name: [time for time in samples.column(name).to_pylist() if time is not None] for name in names}
    return {name.removesuffix("_p99_ms"): max(found) for name, found in times.items() if found}


def _bytes(found: Tables) -> int | None:
    """The bytes of all replicas of known size; None if there are partitions and no size is known."""
    sizes = found["replica_load"].column("size_bytes")
    is_unknown = len(sizes) and sizes.null_count == len(sizes)
    return None if is_unknown else sum(found["broker_load"].column("size_bytes").to_pylist())


def _known(loads: Arrow) -> dict[str, Any]:
    """The bases of the known rates, and the numbers of partitions without a rate or size."""
    bases = reason_counts(loads.filter(loads.column("write_bps").is_valid()).column("basis").to_pylist())
    nulls = {name: loads.column(name).null_count for name in ("write_bps", "size_bytes")}
    return {"bases": bases, "unrated": nulls["write_bps"], "unsized": nulls["size_bytes"]}


def _size(said: dict[str, Any]) -> str:
    if said["bytes"] is None:
        return "no size is known"
    meant = f", sizes of {said['averaged']} estimated as the mean of their topic" if said["averaged"] else ""
    return amount(said["bytes"]) + meant + (f", sizes not known of {said['unsized']}" if said["unsized"] else "")


_UNRATED: Final = "unrated"
_RATED: Final = {
    "measured": "measured for {}",
    "split": "divided from the rate of the topic for {}",
    "size_only": "estimated from the size for {}",
    _UNRATED: "not known for {}",
}


def _rated(basis: str, count: int) -> str:
    return _RATED[basis].format(counted(count, "partition"))


def _lines(said: dict[str, Any]) -> list[tuple[str, str]]:
    rates = {**said["bases"], _UNRATED: said["unrated"]}
    moment = "" if said["consistent"] in {None, True} else ", read while the store changed"
    rows = [
        ("snapshot", f"{said['snapshot']} of {said['cluster']}{'' if said['written'] else ', not written'}{moment}"),
        ("holds", f"{counted(said['brokers'], 'broker')}, {counted(said['partitions'], 'partition')}, {_size(said)}"),
        ("rates", ", ".join(_rated(basis, count) for basis, count in rates.items() if count) or "none"),
    ]
    if said["request_p99_ms"]:
        times = (f"{name.replace('_', ' ')} {time:g} ms" for name, time in said["request_p99_ms"].items())
        rows.append(("requests", f"{', '.join(times)}: 99 percent at the slowest broker take no longer"))
    rows += reason_rows("rejected", "row", said["rejected_rows"])
    return rows + [("note", text) for text in said["notes"]]
