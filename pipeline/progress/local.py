"""Progress in one pass over the files of a journal, or over its events."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from ..audit.local import part_of
from ..audit.rest import Rest
from ..journal.files import NoJournal, Part, read_parts
from ..journal.lines import Event
from .conclusions import STUCK_MS, conclude
from .moves import MovesOf, WorldOf
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
    if not world.rows and not rest.rejected_rows:
        raise NoJournal("the journal holds no whole commit")
    found += moves.end()
    said = conclude(found, world.world(), samples or Samples(), as_of_ms=as_of_ms, stuck_ms=stuck_ms)
    return said._replace(rejected_rows=(*sorted(rest.rejected_rows), *said.rejected_rows))


def _read(parts: Sequence[Part], told: Callable[[int, int], None]) -> Iterator[Event]:
    done = 0
    for part in parts:
        yield from read_parts(part)
        done += part.end
        told(done, sum(part.end for part in parts))
