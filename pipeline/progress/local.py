"""Progress in this process: one pass over the files, without a JVM."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from pipeline.audit.local import part_of
from pipeline.audit.rest import Rest
from pipeline.audit.values import Quarantined
from pipeline.journal.files import NoJournal, read_part, split
from pipeline.progress.conclusions import STUCK_MS, conclude
from pipeline.progress.moves import EVENTS, MovesOf, WorldOf
from pipeline.progress.samples import Samples
from pipeline.progress.values import Progress, Told


def progress(
    files: Sequence[Path],
    samples: Samples | None = None,
    *,
    as_of_ms: int | None = None,
    stuck_ms: int = STUCK_MS,
    told: Callable[[int, int], None] = lambda done, total: None,  # noqa: ARG005 - nobody looks
) -> Progress:
    """The moves of a journal, whose files stand in their order. `told`: called with how many bytes are done, of how
    many. Raises NoJournal."""
    moves, world, rest = MovesOf(), WorldOf(), Rest()
    found: list[Told] = []
    parts = [part_of(path) for path in files]
    done, rows = 0, 0
    for part in parts:
        for event in (event for one in split(part) for event in read_part(one)):
            if event.row is None:
                rest.take(event)
                continue
            rows += 1
            world.feed(event)
            if event.row["event"] in EVENTS:
                found += moves.feed(event)
        done += part.end
        told(done, sum(part.end for part in parts))
    if not rows and not rest.quarantine:
        raise NoJournal("there is no whole commit in it")
    found += moves.end()
    said = conclude(found, world.world(), samples or Samples(), as_of_ms=as_of_ms, stuck_ms=stuck_ms)
    return with_quarantine(said, rest.quarantine)


def with_quarantine(said: Progress, more: Sequence[Quarantined]) -> Progress:
    return said._replace(quarantine=(*sorted(more), *said.quarantine))
