"""Runs a verb over snapshots of tables that Spark keeps, in one job: the rows of all tables that it needs go to a
worker, by (cluster, snapshot), which does what the local engine does; the rows of all tables that it wrote return to be
written.

* A row belongs to one table, which is a column of that name; the others are null.
* Samples of replicas are reduced by column functions before (`samples`).
* The job runs once, and Spark keeps its result until it is written (a local checkpoint). If a worker loses a part, the
  writing fails; the job is not repeated from half-written tables. A killed process leaves nothing behind.
* The rows that say that a plan, its waves or a run exists are removed first and written last. So a killed process
  leaves no plan with rows of two; running it again completes it. The partitions of a snapshot, which are read, are only
  replaced.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

import attrs
import pyarrow as pa
from pyspark.sql import functions as f

from ..errors import PipelineError
from ..stages.usable import RATES, LoadSettings
from ..tables.declared import REPLICA_SAMPLE, SNAPSHOT_TIME, TABLES
from ..tables.files import PART, Place, Wanted
from ..tables.keys import KEYS, Batches
from ..tables.location import Location
from ..verbs.kept import Given, Kept
from ..verbs.verb import Said, Verb
from .catalog import Catalog, Key, condition
from .failing import failing
from .packed import batch_of, columns, gathered, grouped, pack, packed, rows_of, schema, spread, tasks_of
from .samples import reduced
from .verbs import said_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Changes = dict[str, dict[Key, bool]]
"""By table, what changed, and whether it has rows now."""

_LAST: Final = ("partition", "partition_valid", "plan", "wave", "run")
_FIRST: Final = ("plan", "wave", "run")
_ROW: Final = schema(KEYS, list(TABLES.values())).append(pa.field("report", pa.binary()))
_COLUMNS: Final = f"{columns(KEYS, list(TABLES.values()))}, report binary"


def results(catalog: Catalog, verb: Verb, places: Sequence[Place]) -> list[tuple[Place, Said | PipelineError]]:
    """The result of each place, in their order, once everything is written. Raises BadInput if a table cannot be used,
    and EngineFailed if the job did not complete: repeating it writes the same."""
    keys = [(place.cluster, place.snapshot, PART) for place in places]
    read = [frame for wanted in _wanted(verb) if (frame := _read(catalog, wanted, keys)) is not None]
    named = catalog.spark.createDataFrame([key[:2] for key in keys], "cluster string, snapshot string")
    with failing():
        work = _work(verb, catalog.root)
        rows = spread(packed([named, *read, *_rates(catalog, verb, keys)]), KEYS, tasks_of(len(places)))
        done = grouped(rows, KEYS, work, _COLUMNS).localCheckpoint()
        reports = done.where("report IS NOT NULL").select(*KEYS, "report").collect()
    changes: Changes = {}
    said = {}
    for cluster, snapshot, report in reports:
        said[cluster, snapshot], listed = pickle.loads(report)  # noqa: S301 - of `_work`
        for name, part, has_rows in listed:
            changes.setdefault(name, {})[cluster, snapshot, part] = has_rows
    _write(catalog, changes, done)
    return [(place, said[place.cluster, place.snapshot]) for place in places]


def _write(catalog: Catalog, changes: Changes, done: DataFrame) -> None:
    """The tables are as `changes` says, with the rows in `done`. Nothing is written if one of them cannot be."""
    order = [*(name for name in sorted(changes) if name not in _LAST), *(name for name in _LAST if name in changes)]
    filled = [TABLES[name] for name in order if any(changes[name].values())]
    there = catalog.ready([TABLES[name] for name in order], filled)
    for name in _FIRST:
        if name in changes and name in there:
            catalog.empty(TABLES[name], changes[name])
    for name in (name for name in order if name in there):
        if any(changes[name].values()):
            rows = done.where(f.col(name).isNotNull()).select(*KEYS, f"{name}.*")
            catalog.replace(TABLES[name], changes[name], rows.select(*there[name]))
        elif name not in _FIRST:
            catalog.empty(TABLES[name], changes[name])


def _wanted(verb: Verb) -> Sequence[Wanted]:
    """All that it reads of a snapshot."""
    asked = (*verb.wanted, *getattr(verb, "looked_at", ()))
    return [attrs.evolve(one, table=table) for one in asked for table in one.tables]


def _read(catalog: Catalog, wanted: Wanted, keys: Sequence[Key]) -> DataFrame | None:
    """The rows of a wanted table of these snapshots, as rows for a group."""
    frame, table = catalog.read(wanted.table), wanted.table
    if frame is None:
        return None
    if not wanted.last:
        there = frame.where(condition(table, [(cluster, snapshot, wanted.part) for cluster, snapshot, _ in keys]))
        return pack(table, there, KEYS)
    listed = catalog.listed((table, PART))
    last = {place for key in keys if (place := Place(listed, *key[:2]).last_with(table)) is not None}
    if not last:
        return None
    of = catalog.spark.createDataFrame([key[:2] for key in keys], "cluster string, snapshot string")
    rows = frame.where(condition(table, [(place.cluster, place.snapshot, PART) for place in last]))
    return pack(table, rows.drop("snapshot").join(f.broadcast(of), "cluster"), KEYS)


def _rates(catalog: Catalog, verb: Verb, keys: Sequence[Key]) -> Iterator[DataFrame]:
    """The reduced samples of these snapshots, as rows for a group."""
    reduces = getattr(verb, "reduces", None)
    samples = catalog.read(REPLICA_SAMPLE) if reduces is not None else None
    if reduces is None or samples is None:
        return
    by_settings: dict[LoadSettings, list[Key]] = {}
    for key in keys:
        if (settings := reduces(key[0])) is not None:
            by_settings.setdefault(settings, []).append(key)
    for settings, some in by_settings.items():
        rows = samples.where(condition(REPLICA_SAMPLE, some))
        yield pack(RATES, reduced(rows, catalog.read(SNAPSHOT_TIME), settings, KEYS), KEYS)


def _work(verb: Verb, root: Location) -> Callable[..., Batches]:
    wanted = [*{one.table.name: one.table for one in _wanted(verb)}.values(), RATES]

    def work(key: Sequence[str], batches: Batches) -> Batches:
        cluster, snapshot = key
        same: dict[str, str | None] = {"cluster": cluster, "snapshot": snapshot}
        kept = Kept.over(Given(root, cluster, snapshot, gathered(wanted, batches)))
        said = said_of(verb, kept)
        changes = list(kept.changes()) if isinstance(said, Said) else []
        listed = [(table.name, part, rows is not None and rows.num_rows > 0) for table, part, rows in changes]
        yield batch_of(_ROW, 1, same, {"report": pa.array([pickle.dumps((said, listed))])})
        for table, _, rows in changes:
            if rows is not None:
                yield from rows_of(_ROW, same, table, rows)

    return work
