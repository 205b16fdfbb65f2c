"""Progress on Spark: rows without a topic, file by file; then the same fold of reassignments, a group for each topic.

Reassignments, rows without a topic and the quarantine return to the driver.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from pyspark.sql import functions as f

from ..audit.fold import merged
from ..audit.local import part_of
from ..audit.rest import Rest
from ..journal.files import DEFAULT_CLUSTER, Part
from ..journal.lines import Event
from ..progress.conclusions import STUCK_MS
from ..progress.local import finished, side_of
from ..progress.moves import EVENTS, WorldOf, moves_of
from ..progress.samples import Samples
from ..progress.values import Progress, Told
from .rounds import each_file, each_group, of_topics

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_COLUMNS: Final = ("file", "line", "controller_epoch", "ts", "event", "topic", "partition", "replicas", "isr", "target",
                   "origin", "leader", "cause", "detail")  # fmt: skip


class _Around(NamedTuple):
    """What every group of a cluster gets: the rows of takeovers, and the place of each file in the journal."""

    takeovers: Sequence[Event]
    rank: Mapping[str, int]

    def place(self, event: Event) -> tuple[int, int]:
        return self.rank[event.file], event.line


def progress(
    spark: SparkSession,
    files: Sequence[Path],
    samples: Samples | None = None,
    *,
    as_of_ms: int | None = None,
    stuck_ms: int = STUCK_MS,
) -> Progress:
    """As `kedge.pipeline.progress.progress`, with the same result. Raises NoJournal."""
    given = {} if samples is None else {DEFAULT_CLUSTER: samples}
    return progresses(spark, {DEFAULT_CLUSTER: files}, given, as_of_ms=as_of_ms, stuck_ms=stuck_ms)[DEFAULT_CLUSTER]


def progresses(
    spark: SparkSession,
    journals: Mapping[str, Sequence[Path]],
    samples: Mapping[str, Samples],
    *,
    as_of_ms: int | None = None,
    stuck_ms: int = STUCK_MS,
) -> dict[str, Progress]:
    """The progress of several clusters, by their ids, in one job. Raises NoJournal if a file cannot be read at all, or
    a cluster has no line of a journal."""
    parts = [part_of(path) for files in journals.values() for path in files]
    sides = dict(zip((part.path for part in parts), each_file(spark, parts, side_of), strict=True))
    worlds: dict[str, tuple[WorldOf, Rest]] = {}
    around: dict[str, _Around] = {}
    for cluster, files in journals.items():
        world, rest, takeovers = WorldOf(), Rest(), []
        for one in (sides[str(path)] for path in files):
            rest.add(one.rest)
            world.passed(one.rows, one.last_ts_ms)
            for event in one.events:
                world.feed(event)
            takeovers += one.takeovers
        worlds[cluster] = world, rest
        around[cluster] = _Around(takeovers, {str(path): at for at, path in enumerate(files)})
    told = _told(spark, parts, around)
    return {
        one: finished(told[one], *world, samples.get(one, Samples()), as_of_ms=as_of_ms, stuck_ms=stuck_ms)
        for one, world in worlds.items()
    }


def _told(spark: SparkSession, parts: Sequence[Part], around: Mapping[str, _Around]) -> dict[str, list[Told]]:
    """The reassignments of each cluster. Those of topics that only takeovers name are folded here."""
    keys = f.when(f.col("event").isin(*sorted(EVENTS)), f.array("topic"))
    ranks = {cluster: one.rank for cluster, one in around.items()}
    told: dict[str, list[Told]] = {cluster: [] for cluster in around}
    topics: dict[str, set[str | None]] = {cluster: set() for cluster in around}
    rows = of_topics(spark, parts, _COLUMNS, keys)
    for cluster, topic, some in each_group(rows, ranks, _moves_in(around)):
        topics[cluster].add(topic)
        told[cluster] += some
    for cluster, one in around.items():
        told[cluster] += moves_of(one.takeovers, lambda topic, done=topics[cluster]: topic not in done)  # type: ignore[misc]
    return told


def _moves_in(around: Mapping[str, _Around]) -> Callable[[str, str | None, Iterator[Event]], list[Told]]:
    def fold(cluster: str, topic: str | None, own: Iterator[Event]) -> list[Told]:
        one = around[cluster]
        return moves_of(merged(own, one.takeovers, one.place), lambda name: name == topic)

    return fold
