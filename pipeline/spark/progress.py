"""Progress on Spark, in the rounds of an audit (`pipeline.spark.audit`): files first, then a group for each topic, read
in batches. Rows without a topic are few; each group gets them beside its own. What follows from moves is concluded in
this process."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pyarrow as pa
from pyspark.sql import functions as f

from pipeline.audit.fold import last_ts_ms
from pipeline.audit.local import part_of
from pipeline.audit.rest import Rest
from pipeline.journal.arrow import events_of
from pipeline.journal.files import DEFAULT_CLUSTER, NoJournal, Part
from pipeline.journal.lines import Event
from pipeline.progress.conclusions import STUCK_MS, conclude
from pipeline.progress.local import with_quarantine
from pipeline.progress.moves import EVENTS, moves_of, world_of
from pipeline.progress.samples import Samples
from pipeline.progress.values import Progress, Told, World
from pipeline.spark.audit import first_rounds, in_groups, read_journal

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_COLUMNS: Final = ("file", "line", "controller_epoch", "ts", "event", "topic", "partition", "replicas", "isr", "target",
                   "origin", "leader", "broker_id", "cause", "detail")  # fmt: skip
_GROUP: Final = ("cluster", "topic")
_FOUND: Final = pa.schema([("cluster", pa.string()), ("topic", pa.string()), ("found", pa.binary())])


class Beside(NamedTuple):
    """What every group of a cluster is given: the rows without a topic that say something of moves, in the order of the
    journal, and the ranks of files."""

    side: Sequence[Event]
    rank: Mapping[str, int]


def progress(
    spark: SparkSession,
    files: Sequence[Path],
    samples: Samples | None = None,
    *,
    as_of_ms: int | None = None,
    stuck_ms: int = STUCK_MS,
) -> Progress:
    """As `pipeline.progress.progress`, and with the same result. Raises NoJournal."""
    parts = [part_of(path) for path in files]
    rest, side, edges = Rest(), list[Event](), []
    for one in first_rounds(spark, parts):
        rest.add(one.rest)
        side += one.side
        edges.append(one.edge)
    world: World = world_of(side)._replace(last_ts_ms=last_ts_ms(edges))
    if not any(edge.spans for edge in edges) and not rest.quarantine:
        raise NoJournal("there is no whole commit in it")
    said = [event for event in side if event.row is not None and event.row["event"] in EVENTS]
    told = _told(spark, parts, Beside(said, {str(path): at for at, path in enumerate(files)}))
    found = conclude(told, world, samples or Samples(), as_of_ms=as_of_ms, stuck_ms=stuck_ms)
    return with_quarantine(found, rest.quarantine)


def _told(spark: SparkSession, parts: Sequence[Part], beside: Beside) -> list[Told]:
    """The moves of topics, and of those that only takeovers name."""
    of_moves = f.col("problem").isNull() & f.col("topic").isNotNull() & f.col("event").isin(*sorted(EVENTS))
    rows = read_journal(spark, parts).where(of_moves).select(*_COLUMNS)
    spread = in_groups(spark, rows, {DEFAULT_CLUSTER: beside.rank}, _GROUP)
    done = spread.groupBy(*_GROUP).applyInArrow(_group(beside), "cluster string, topic string, found binary").collect()
    told = [one for row in done for one in pickle.loads(row["found"])]  # noqa: S301 - ours
    seen = {row["topic"] for row in done}
    return told + moves_of((), beside.side, beside.rank, lambda topic: topic not in seen)


def _group(beside: Beside) -> Callable[..., Iterator[pa.RecordBatch]]:
    def work(key: tuple[pa.Scalar, ...], batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        cluster, topic = (part.as_py() for part in key)
        own = (event for batch in batches for event in events_of(pa.Table.from_batches([batch])))
        found: Any = moves_of(own, beside.side, beside.rank, lambda name: name == topic)
        row = {"cluster": cluster, "topic": topic, "found": pickle.dumps(found)}
        yield pa.RecordBatch.from_pylist([row], _FOUND)

    return work
