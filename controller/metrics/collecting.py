"""Collects the metrics of a controller from what its loop publishes.

Between two batches the loop replaces the counts of the cluster as a whole (`Term.counts`), and measurements are copied.
So any thread gets committed state at once, also while the loop waits for the store, on a stand-by, and in a callback:
without waiting or visiting partitions. Gauges of the cluster come from the active controller; a stand-by leaves them
out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ..runtime.counts import Counts
from ..runtime.loop import Loop
from ..runtime.measures import HistogramValue, Measures
from ..runtime.term import Term
from ..state.tally import Tally
from . import definitions as d
from .snapshot import Sample, Snapshot


def collect(loop: Loop) -> Snapshot:
    """The metrics of a controller, from any thread. The cost depends on brokers and kinds of events, not on
    partitions."""
    services = loop.services
    term = loop.term if loop.is_active else None  # read once: it may end meanwhile
    return Snapshot(_samples(loop, term), ("controller_id", str(services.controller_id)))


def _samples(loop: Loop, term: Term | None) -> Iterator[Sample]:
    services = loop.services
    yield Sample(d.ACTIVE, int(term is not None))
    if term is not None:
        yield from _of_cluster(term.counts)
    yield Sample(d.QUEUE_SIZE, len(services.inbox) + (0 if term is None else len(term.work)))
    journal = services.journal
    if journal.is_kept:
        yield Sample(d.JOURNAL_LINES, journal.lines_written)
        yield Sample(d.JOURNAL_FAILED, journal.commits_lost)
        yield Sample(d.JOURNAL_ROWS_LOST, journal.rows_lost)
        yield Sample(d.JOURNAL_STOPPED, int(journal.stopped is not None))
    if services.measures.is_kept:
        yield from _measured(services.measures)


def _of_cluster(counts: Counts) -> Iterator[Sample]:
    yield Sample(d.BROKERS, len(counts.live_brokers))
    yield Sample(d.TOPICS, counts.topics)
    yield Sample(d.PARTITIONS, counts.partitions)
    yield Sample(d.TO_DELETE, len(counts.deleting_topics))
    yield Sample(d.REPLICAS_TO_DELETE, counts.intents)
    if counts.tally is not None:
        yield from _tallied(counts.tally, counts.live_brokers)


def _tallied(tally: Tally, live: tuple[int, ...]) -> Iterator[Sample]:
    yield Sample(d.OFFLINE, tally.offline)
    for total, of_broker, found in (
        (d.IMBALANCED, d.IMBALANCED_OF, tally.imbalanced),
        (d.REASSIGNING, d.REASSIGNING_OF, tally.reassigning),
        (d.UNDER_REPLICATED, d.UNDER_REPLICATED_OF, tally.under_replicated),
    ):
        yield Sample(total, sum(found.values()))
        for broker in sorted({*live, *found}):
            yield Sample(of_broker, found.get(broker, 0), str(broker))


def _measured(measures: Measures) -> Iterator[Sample]:
    seen = measures.seen
    yield from _by_tag(d.QUEUE_TIME, seen.queued)
    yield from _by_tag(d.PROCESSING_TIME, seen.processed)
    yield Sample(d.COMMIT_OPS, seen.commit_ops)
    yield Sample(d.COMMIT_BYTES, seen.commit_bytes)
    yield Sample(d.COMMIT_TIME, seen.commit_ms)
    yield Sample(d.CONFLICTS, seen.conflicts)
    yield from _by_tag(d.ROUND_TIME, seen.rounds)
    yield from _by_tag(d.ROUNDS_FAILED, seen.failed)


def _by_tag(
    metric: d.Metric, values: Mapping[int, HistogramValue | int] | Mapping[str, HistogramValue]
) -> Iterator[Sample]:
    for tag_value, value in sorted(values.items()):
        yield Sample(metric, value, str(tag_value))
