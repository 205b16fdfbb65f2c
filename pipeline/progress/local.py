"""Progress in this process: one pass over the files, without a JVM; and what ways that spread topics share with it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from pipeline.audit.local import part_of
from pipeline.audit.rest import Rest
from pipeline.journal.files import NoJournal, Part, read_parts
from pipeline.journal.lines import Event
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
    done = 0
    for part in parts:
        for event in read_parts(part):
            if event.row is None:
                rest.take(event)
                continue
            world.feed(event)
            if event.row["event"] in EVENTS:
                found += moves.feed(event)
        done += part.end
        told(done, sum(part.end for part in parts))
    found += moves.end()
    return finished(found, world, rest, samples or Samples(), as_of_ms=as_of_ms, stuck_ms=stuck_ms)


def finished(
    told: Iterable[Told], world: WorldOf, rest: Rest, samples: Samples, *, as_of_ms: int | None, stuck_ms: int
) -> Progress:
    """Everything that follows from the moves of a journal. Raises NoJournal where it has no line."""
    if not world.rows and not rest.quarantine:
        raise NoJournal("there is no whole commit in it")
    said = conclude(told, world.world(), samples, as_of_ms=as_of_ms, stuck_ms=stuck_ms)
    return said._replace(quarantine=(*sorted(rest.quarantine), *said.quarantine))


class Side(NamedTuple):
    """What a file says of no topic, where topics are folded elsewhere. `rows`: how many rows of topics it has, and
    `last_ts_ms` the latest time of them."""

    rest: Rest
    events: list[Event]
    rows: int
    last_ts_ms: int

    @property
    def takeovers(self) -> list[Event]:
        return [event for event in self.events if event.row is not None and event.row["event"] == "Takeover"]


def side_of(part: Part) -> Side:
    """Raises nothing for what stands in the file, as `read_parts`."""
    rest, rows, last_ts_ms = Rest(), 0, 0
    events: list[Event] = []
    for event in read_parts(part):
        if event.row is None:
            rest.take(event)
        elif "topic" in event.row:
            rows, last_ts_ms = rows + 1, max(last_ts_ms, event.row["ts"])
        else:
            events.append(event)
    return Side(rest, events, rows, last_ts_ms)
