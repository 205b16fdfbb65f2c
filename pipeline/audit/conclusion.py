"""What an audit comes to: everything that files and groups showed, put together and in order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from pipeline.audit.edges import Edge, Light
from pipeline.audit.rest import Rest
from pipeline.audit.stitched import stitch, written_late
from pipeline.audit.topics import KNOWN
from pipeline.audit.values import Audit, Counts, Gap, Violation, gaps_in_order, in_order
from pipeline.journal.files import NoJournal


def conclude(
    edges: Sequence[Edge],
    rest: Rest,
    found: Sequence[Violation | Gap],
    partitions: int,
    lights: Callable[[str], Iterator[Light]],
) -> Audit:
    """Everything that groups found, put together and in order. `lights`: of a file, once more. Raises NoJournal where
    there is not one line of a journal."""
    rank = {edge.file: at for at, edge in enumerate(edges)}
    order = stitch(edges, rest.gone)
    late = [written_late(file, lights(file), epoch, bound) for file, epoch, bound in order.suspects]
    first_late = {violation.controller_epoch: violation for violation in reversed(late) if violation is not None}
    superseded = {v.controller_epoch for v in order.violations if v.kind == "superseded epoch"}
    violations = [v for v in found if isinstance(v, Violation)] + list(order.violations)
    violations += [violation for epoch, violation in first_late.items() if epoch not in superseded]
    gaps = [gap for gap in found if isinstance(gap, Gap)] + list(order.gaps) + rest.gaps
    counts = _counts(edges, partitions)
    if not counts.lines and not rest.quarantine:
        raise NoJournal("there is no whole commit to audit")
    unchecked = tuple((event, n) for event, n in counts.events if event not in KNOWN)
    quarantine = tuple(sorted(rest.quarantine, key=lambda q: (rank.get(q.source, 0), q.line, q.reason)))
    return Audit(in_order(rank, violations), gaps_in_order(rank, gaps), quarantine, counts, unchecked)


def _counts(edges: Sequence[Edge], partitions: int) -> Counts:
    events: Counter[str] = Counter()
    for edge in edges:
        events.update(edge.events)
    spans: dict[int, tuple[int, int]] = {}
    for edge in edges:
        for epoch, (first, last) in edge.spans.items():
            begun, ended = spans.get(epoch, (first, last))
            spans[epoch] = (min(begun, first), max(ended, last))
    return Counts(
        len(edges),
        sum(events.values()),
        sum(edge.commits for edge in edges),
        len(spans),
        partitions,
        tuple(sorted(events.items())),
        tuple((epoch, *span) for epoch, span in sorted(spans.items())),
    )
