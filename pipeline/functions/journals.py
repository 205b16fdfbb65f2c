"""Audits and progress as functions on journals in tables: Arrow tables for the local engine, DataFrames for Spark.

* `events` has the columns of the table `journal_event`, such as the data source `kedge_journal` gives, and each line
  once: lines of any number of clusters in any order. The results have the cluster, then the columns of their tables,
  and are those of `kedge journal audit` and `progress` of the same journals.
* The rows of a cluster are one fold in the order of its journal: by the controller epoch and the number in the names of
  files, then by line. On Spark a cluster is the work of one core.
* No file is read: all that is known of one is its rows.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from itertools import chain
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from ..arguments import check_frames, whole
from ..audit.local import audit_of
from ..errors import BadInput
from ..journal.arrow import BATCH_ROWS, NEEDED, events_of
from ..journal.files import place_of
from ..journal.lines import Event
from ..journal.results import Rows, rows_of_audit, rows_of_progress
from ..progress.conclusions import STUCK_MS
from ..progress.local import progress_of
from ..tables.arrow import Arrow, conform, empty
from ..tables.declared import REJECTED_ROWS
from ..tables.journal import (
    AUDIT_GAP,
    AUDIT_VIOLATION,
    BROKER_REASSIGNMENT,
    ETA_CALIBRATION,
    JOURNAL_EVENT,
    PROGRESS,
    STUCK,
)
from ..tables.keys import by_key
from .folds import CLUSTER, TAKEOVER, Fold
from .planning import Frames

_KEYS: Final = (CLUSTER, "file", "line", *NEEDED)


def audit(events: Any) -> Frames:
    """`audit_violation`, the broken rules with the first event that broke each; `audit_gap`, the places that cannot be
    judged; `rejected_rows`, the lines that cannot be read. Raises BadInput for a table without the columns of lines; a
    line that lacks a field raises it (on Spark: fails the job) when it is read."""
    return _by_cluster(events, Fold(_audited, (AUDIT_VIOLATION, AUDIT_GAP, REJECTED_ROWS)))


def progress(events: Any, *, as_of_ms: int | None = None, stuck_ms: int = STUCK_MS) -> Frames:
    """`progress`, a row for each reassignment; `stuck`, those that run and made no progress for `stuck_ms`, and why;
    `broker_reassignment`, what each broker had to copy over time; `eta_calibration`, predicted and real times;
    `rejected_rows`. `as_of_ms`: the moment, by default that of the cluster's last row. Raises as `audit`."""
    now_ms = None if as_of_ms is None else whole(as_of_ms, "as_of_ms")
    run = partial(_progressed, as_of_ms=now_ms, stuck_ms=whole(stuck_ms, "stuck_ms"))
    return _by_cluster(events, Fold(run, (PROGRESS, STUCK, BROKER_REASSIGNMENT, ETA_CALIBRATION, REJECTED_ROWS)))


def _audited(cluster: str, takeovers: Iterable[Event], events: Iterable[Event]) -> Rows:
    return rows_of_audit({cluster: audit_of(events, takeovers)})


def _progressed(cluster: str, _: Iterable[Event], events: Iterable[Event], **asked: Any) -> Rows:
    return rows_of_progress({cluster: progress_of(events, **asked)})


def _by_cluster(events: Any, fold: Fold) -> Frames:
    is_arrow = isinstance(events, pa.Table)
    if not is_arrow:
        check_frames({JOURNAL_EVENT.name: events})
    names = events.column_names if is_arrow else events.columns
    if missing := [name for name in _KEYS if name not in names]:
        raise BadInput(f"{JOURNAL_EVENT.name}: no column {', '.join(missing)}")
    if is_arrow:
        return _on_arrow(events, fold)
    from ..spark.clusters import by_cluster  # noqa: PLC0415 - only Spark's users have PySpark

    return by_cluster(events, fold)


def _on_arrow(events: Arrow, fold: Fold) -> dict[str, Arrow]:
    found = {table.name: [empty(table)] for table in fold.tables}
    rows = _in_order(conform(JOURNAL_EVENT, events, JOURNAL_EVENT.name))
    takeovers = rows.filter(pc.equal(rows["event"], TAKEOVER))
    for (cluster,), some in by_key(rows.to_batches(max_chunksize=BATCH_ROWS), (CLUSTER,)):
        own = takeovers.filter(pc.equal(takeovers[CLUSTER], cluster)).to_batches()
        for table, made in zip(fold.tables, fold(cluster, _events(own), _events(some)), strict=True):
            found[table.name].append(made)
    return {name: pa.concat_tables(some) for name, some in found.items()}


def _events(batches: Iterable[Any]) -> Iterable[Event]:
    return chain.from_iterable(map(events_of, batches))


def _in_order(rows: Arrow) -> Arrow:
    """By cluster, each in the order of its journal."""
    files = sorted(pc.unique(rows["file"]).to_pylist(), key=place_of)
    place = pc.index_in(rows["file"], value_set=pa.array(files, pa.string()))
    keys = [(name, "ascending") for name in (CLUSTER, "place", "line")]
    return rows.take(pc.sort_indices(rows.append_column("place", place), keys))
