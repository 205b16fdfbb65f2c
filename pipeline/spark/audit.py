"""The audit on Spark: the first round of `kedge.pipeline.audit.pool`, file by file; then the same fold, a group for
each topic.

* Rows without a topic are few and collected by the first round: each fold gets them besides its own.
* Edges of files, violations, gaps and the quarantine return to the driver.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from pyspark.sql import functions as f

from ..audit.conclusion import conclude
from ..audit.fold import Found, Marks, judged, marks_of, merged
from ..audit.local import part_of
from ..audit.pool import first_round
from ..audit.rest import Rest
from ..audit.stitched import Stitched
from ..audit.throttles import EVENTS
from ..audit.values import Audit
from ..journal.files import DEFAULT_CLUSTER
from ..journal.lines import Event
from .rounds import each_file, each_group, of_topics

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_RULES: Final = ("file", "line", "controller_epoch", "seq", "row", "ts", "event", "topic", "topic_id", "partition",
                 "replicas", "isr", "target", "origin", "leader", "leader_epoch", "partition_epoch", "status",
                 "broker_id", "cause", "detail")  # fmt: skip


class World(NamedTuple):
    """What every group of a cluster gets."""

    side: Sequence[Event]
    marks: Marks


def audit(spark: SparkSession, files: Sequence[Path]) -> Audit:
    """As `kedge.pipeline.audit.audit`, with the same result. Raises NoJournal."""
    return audits(spark, {DEFAULT_CLUSTER: files})[DEFAULT_CLUSTER]


def audits(spark: SparkSession, journals: Mapping[str, Sequence[Path]]) -> dict[str, Audit]:
    """The audits of several clusters, by their ids, in one job. Raises NoJournal if a file cannot be read at all, or
    a cluster has no line of a journal."""
    parts = [part_of(path) for files in journals.values() for path in files]
    firsts = {one.edge.file: one for one in each_file(spark, parts, partial(first_round, 1))}
    orders: dict[str, tuple[Stitched, Rest]] = {}
    worlds: dict[str, World] = {}
    for cluster, files in journals.items():
        order, rest, side = Stitched(), Rest(), []
        for one in (firsts[str(path)] for path in files):
            rest.add(one.rest)
            order.add(one.edge, is_gone=one.edge.file in rest.gone)
            side += one.side
        orders[cluster], worlds[cluster] = (order, rest), World(side, marks_of(order))
    found = {cluster: (judged(*world, throttles=False)[0], 0) for cluster, world in worlds.items()}
    ranks = {cluster: world.marks.rank for cluster, world in worlds.items()}
    keys = f.when(f.col("event").isin(*sorted(EVENTS)), f.array("topic", f.lit(None))).otherwise(f.array("topic"))
    rows = of_topics(spark, parts, _RULES, keys)
    for cluster, _, (some, partitions) in each_group(rows, ranks, _judged_in(worlds)):
        before, count = found[cluster]
        found[cluster] = before + some, count + partitions
    return {cluster: conclude(*orders[cluster], *found[cluster]) for cluster in journals}


def _judged_in(worlds: Mapping[str, World]) -> Callable[[str, str | None, Iterator[Event]], tuple[Found, int]]:
    def fold(cluster: str, topic: str | None, own: Iterator[Event]) -> tuple[Found, int]:
        side, marks = worlds[cluster]
        return judged(merged(own, side, marks.place), marks, throttles=topic is None)

    return fold
