"""A fold over the journals of many clusters in a DataFrame: one pass of each worker over the rows of its clusters.

* Spark sorts the rows by cluster, and each cluster in the order of its journal. A worker reads them batch by batch, so
  that its memory grows with partitions and not with lines.
* A Takeover passes twice, the first time before all rows of its cluster: by it, the one pass finds lines that were
  written after their term.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

import attrs
import pyarrow as pa

from ...controller.codec.journal import NAME
from ..functions.folds import CLUSTER, TAKEOVER, Fold
from ..journal.arrow import events_of
from ..journal.lines import Event
from ..tables.journal import JOURNAL_EVENT
from ..tables.keys import Batches, by_key
from ..tables.schema import Table
from .frames import Snapshots
from .packed import columns, pack, rows_of, schema, spread

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_AHEAD, _IN_ORDER = 0, 1
_TURN: Final = "turn"
_PATH: Final = rf"(?:^|/){NAME.pattern}$"


def by_cluster(events: DataFrame, fold: Fold) -> Snapshots:
    """The tables of the fold, once they are read. `events`: with the columns of `journal_event`."""
    from pyspark.sql import functions as f  # noqa: PLC0415 - this module can be imported without PySpark

    def number(group: int) -> Column:
        text = f.regexp_extract("file", _PATH, group)
        return f.when(text != "", text.cast("long"))

    twice = f.when(f.col("event") == TAKEOVER, f.array(f.lit(_AHEAD), f.lit(_IN_ORDER)))
    turn = f.explode(twice.otherwise(f.array(f.lit(_IN_ORDER)))).alias(_TURN)
    place: list[str | Column] = [number(2).alias("epoch"), number(3).alias("n"), "file", "line"]
    texts = events.withColumn(CLUSTER, f.col(CLUSTER).cast("string"))
    rows = pack(JOURNAL_EVENT, texts, [CLUSTER, turn, *place])
    order: list[str | Column] = [_TURN, f.col("epoch").asc_nulls_last(), f.col("n").asc_nulls_last(), "file", "line"]
    sorted_rows = spread(rows, [CLUSTER], order=order).select(CLUSTER, _TURN, JOURNAL_EVENT.name)
    made = [attrs.evolve(table, columns=table.columns[1:]) for table in fold.tables]
    found = sorted_rows.mapInArrow(_work(fold, made), columns([CLUSTER], made))
    return Snapshots(found, [CLUSTER], [table.name for table in made], is_spread=True)


def _work(fold: Fold, made: Sequence[Table]) -> Callable[[Batches], Batches]:
    def work(batches: Batches) -> Batches:
        ahead: tuple[str | None, list[Event]] = (None, [])
        for (cluster, turn), some in by_key(batches, (CLUSTER, _TURN)):
            events = chain.from_iterable(map(_events, some))
            if turn == _AHEAD:
                ahead = cluster, list(events)
                continue
            takeovers = ahead[1] if ahead[0] == cluster else []
            for table, rows in zip(made, fold(cluster, takeovers, events), strict=True):
                yield from rows_of(of, {CLUSTER: cluster}, table, rows.drop_columns([CLUSTER]))

    of = schema([CLUSTER], made)
    return work


def _events(batch: Any) -> Iterator[Event]:
    return events_of(pa.RecordBatch.from_struct_array(batch.column(JOURNAL_EVENT.name)))
