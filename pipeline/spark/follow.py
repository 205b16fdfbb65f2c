"""An audit as a stream: lines of journals, by cluster, through the fold of `kedge.pipeline.audit.follow`.

* A group is a cluster, because the order of its lines, its chain and its throttles span all its topics
  (docs/decisions/0097). Spark's state store has the state of the cluster and that of each topic: a batch reads and
  writes those of the topics that its rows name.
* Spark gives the rows of a group in no order; they are sorted here, and `lines_max` bounds their number.
* A repeated batch gives the same rows. `found` is called with its number, at least once, before Spark records that the
  batch is done.
* Spark waits ten seconds for the Python process that lists the files, and no setting changes that. On a machine that is
  too busy the stream is started again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import Event
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import pyarrow as pa
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle, TimerValues
from tenacity import Retrying, retry_if_exception, stop_after_attempt

from ..audit.follow import Said, follow
from ..audit.kept import topics_in
from ..audit.values import Gap, RejectedRow, Violation
from ..journal.files import place_of
from ..journal.lines import FILE_GONE, read_line
from ..journal.lines import Event as Line
from .failing import failing
from .source import FORMAT, KedgeJournal

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

LINES_MAX: Final = 50_000
_TRIGGER: Final = "1 second"
_LOOK_EVERY_S: Final = 1
_PROVIDER: Final = "spark.sql.streaming.stateStore.providerClass"
_ROCKSDB: Final = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
_KINDS: Final[Mapping[str, type[Any]]] = {kind.__name__: kind for kind in (Violation, Gap, RejectedRow)}
_COLUMNS: Final = "cluster string, lines long, said string"

Batch: TypeAlias = dict[str, tuple[int, list[Said]]]
"""By cluster: the number of lines in a batch, and its findings."""


def run(
    spark: SparkSession,
    paths: Sequence[str],
    checkpoint: str,
    found: Callable[[int, Batch], None],
    stopped: Event,
    **options: Any,
) -> None:
    """Start the stream, and wait until it ends or `stopped` is set. `options`: as of `start`. Raises EngineFailed."""
    for attempt in Retrying(retry=retry_if_exception(_is_late), stop=stop_after_attempt(5), reraise=True):
        with attempt:
            wait(start(spark, paths, checkpoint, found, **options), stopped)


def _is_late(error: BaseException) -> bool:
    return "Python worker failed to connect back" in str(error)


def start(
    spark: SparkSession,
    paths: Sequence[str],
    checkpoint: str,
    found: Callable[[int, Batch], None],
    *,
    once: bool,
    lines_max: int = LINES_MAX,
    cluster: str | None = None,
) -> StreamingQuery:
    """Start the stream. `paths`: of journals, absolute; `once`: it ends when it has read what exists now; `cluster`:
    the only one that is audited. Raises EngineFailed."""
    spark.dataSource.register(KedgeJournal)
    options = {"paths": json.dumps(list(paths)), "lines": "true", "maxRowsPerTrigger": str(lines_max)}
    lines = spark.readStream.format(FORMAT).options(**options).load()
    if cluster is not None:
        lines = lines.where(lines["cluster"] == cluster)
    said = lines.groupBy("cluster").transformWithStateInPandas(_Cluster(), _COLUMNS, "Append", "None")
    trigger: dict[str, Any] = {"availableNow": True} if once else {"processingTime": _TRIGGER}

    def batch(rows: DataFrame, number: int) -> None:
        found(number, {row["cluster"]: (row["lines"], _read(row["said"])) for row in rows.collect()})

    writer = said.writeStream.foreachBatch(batch).option("checkpointLocation", checkpoint).trigger(**trigger)
    with failing(), _states_in_rocksdb(spark):
        return writer.start()


def wait(query: StreamingQuery, stopped: Event) -> None:
    """Wait until the stream ends, or `stopped` is set, which ends it. A batch that runs then is repeated by the next
    start. Raises EngineFailed."""
    try:
        with failing():
            while not query.awaitTermination(_LOOK_EVERY_S) and not stopped.is_set():
                pass
    finally:
        query.stop()


@contextmanager
def _states_in_rocksdb(spark: SparkSession) -> Iterator[None]:
    """A query takes the settings of its session when it starts. This one needs another state store than Spark's
    default; a setting of the user is kept."""
    if spark.conf.get(_PROVIDER, None) is not None:
        yield
        return
    spark.conf.set(_PROVIDER, _ROCKSDB)
    try:
        yield
    finally:
        spark.conf.unset(_PROVIDER)


class _Cluster(StatefulProcessor):
    """The audit of each cluster, batch by batch."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._state = handle.getValueState("cluster", "kept binary")
        self._topics = handle.getMapState("topics", "topic string", "kept binary")

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: TimerValues) -> Iterator[Any]:  # noqa: ARG002, N802, N803 - Spark's names
        events = _events(rows)
        names = sorted(topics_in(events))
        topics = {name: None if (kept := self._topics.getValue((name,))) is None else kept[0] for name in names}
        state = self._state.get()
        step = follow(None if state is None else state[0], topics, events)
        for name, after in step.topics.items():
            if after is None:
                self._topics.removeKey((name,))
            elif after != topics.get(name):
                self._topics.updateValue((name,), (after,))
        self._state.update((step.state,))
        said = json.dumps([(type(one).__name__, *one) for one in step.said])
        yield pa.table({"cluster": [key[0]], "lines": [len(events)], "said": [said]}).to_pandas()


def _events(rows: Iterator[Any]) -> list[Line]:
    """The events of frames of lines, in the order of the journal."""
    columns = (zip(frame["file"], frame["line"].tolist(), frame["raw"], strict=True) for frame in rows)
    lines = [line for some in columns for line in some]
    places = {file: place_of(file) for file in {line[0] for line in lines}}
    lines.sort(key=lambda line: (places[line[0]], line[1]))
    return [_gone(file, line) if raw is None else read_line(file, line, raw) for file, line, raw in lines]


def _gone(file: str, line: int) -> Line:
    return Line(file, 0, "", None, FILE_GONE, f"before line {line} could be read")


def _read(said: str) -> list[Said]:
    return [_KINDS[kind](*values) for kind, *values in json.loads(said)]
