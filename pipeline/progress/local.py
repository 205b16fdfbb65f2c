"""Progress in this process, in one pass over the files without a JVM (`progress`); or in the rounds of an audit, whose
calls run in any workers (`progresses`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from ..audit.local import part_of
from ..audit.rest import Rest
from ..audit.rounds import Each, Files, Journal, first_rounds, group_of, second_rounds
from ..journal.files import NoJournal, Part, read_parts
from ..journal.lines import Event
from .conclusions import STUCK_MS, conclude
from .moves import MovesOf, WorldOf, moves_of
from .samples import Samples
from .values import Progress, Told


def progress(
    files: Sequence[Path],
    samples: Samples | None = None,
    *,
    as_of_ms: int | None = None,
    stuck_ms: int = STUCK_MS,
    told: Callable[[int, int], None] = lambda done, total: None,  # noqa: ARG005 - no progress bar
) -> Progress:
    """The reassignments of a journal, whose files are in their order. `told`: called with the bytes done and the total.
    Raises NoJournal."""
    parts = [part_of(path) for path in files]
    return progress_of(_read(parts, told), samples, as_of_ms=as_of_ms, stuck_ms=stuck_ms)


def progress_of(
    events: Iterable[Event], samples: Samples | None = None, *, as_of_ms: int | None = None, stuck_ms: int = STUCK_MS
) -> Progress:
    """The reassignments in the events of a journal, in their order. Raises NoJournal."""
    moves, world, rest = MovesOf(), WorldOf(), Rest()
    found: list[Told] = []
    for event in events:
        if event.row is None:
            rest.take(event)
            continue
        world.feed(event)
        found += moves.feed(event)
    found += moves.end()
    return finished(found, world, rest, samples or Samples(), as_of_ms=as_of_ms, stuck_ms=stuck_ms)


def _read(parts: Sequence[Part], told: Callable[[int, int], None]) -> Iterator[Event]:
    done = 0
    for part in parts:
        yield from read_parts(part)
        done += part.end
        told(done, sum(part.end for part in parts))


def finished(
    told: Iterable[Told], world: WorldOf, rest: Rest, samples: Samples, *, as_of_ms: int | None, stuck_ms: int
) -> Progress:
    """The result for the reassignments of a journal. Raises NoJournal if it has no line."""
    if not world.rows and not rest.rejected_rows:
        raise NoJournal("the journal holds no whole commit")
    said = conclude(told, world.world(), samples, as_of_ms=as_of_ms, stuck_ms=stuck_ms)
    return said._replace(rejected_rows=(*sorted(rest.rejected_rows), *said.rejected_rows))


def progresses(
    journals: Mapping[str, Files], samples: Mapping[str, Samples], each: Each, *, as_of_ms: int | None, stuck_ms: int
) -> dict[str, Progress]:
    """The progress of several clusters in the rounds of an audit. Raises NoJournal, and the errors of `each`."""
    read = first_rounds(journals, each)
    told: dict[str, list[Told]] = {cluster: [] for cluster in read}
    for cluster, some in second_rounds(read, _moves_in, each, throttles=False):
        told[cluster] += some
    return {
        cluster: finished(
            told[cluster], _world(journal), journal.rest, samples.get(cluster, Samples()), as_of_ms=as_of_ms,
            stuck_ms=stuck_ms,
        )
        for cluster, journal in read.items()
    }  # fmt: skip


def _moves_in(journal: Journal, group: int) -> list[Told]:
    groups = journal.files.groups
    return moves_of(journal.rows(group), lambda topic: group_of(topic, groups) == group)


def _world(journal: Journal) -> WorldOf:
    world = WorldOf()
    for event in journal.side:
        world.feed(event)
    world.passed(sum(sum(edge.events.values()) for edge in journal.order.edges), journal.order.reached_ms)
    return world
