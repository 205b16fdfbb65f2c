"""Progress in this process: one pass over the files, without a JVM; and functions shared with engines that spread
topics."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from ..audit.local import part_of
from ..audit.rest import Rest
from ..journal.files import NoJournal, Part, read_parts
from ..journal.lines import Event
from .conclusions import STUCK_MS, conclude
from .moves import EVENTS, MovesOf, WorldOf
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
    """The result for the reassignments of a journal. Raises NoJournal if it has no line."""
    if not world.rows and not rest.quarantine:
        raise NoJournal("the journal holds no whole commit")
    said = conclude(told, world.world(), samples, as_of_ms=as_of_ms, stuck_ms=stuck_ms)
    return said._replace(quarantine=(*sorted(rest.quarantine), *said.quarantine))


class Side(NamedTuple):
    """What a file has besides rows of topics, if those are folded elsewhere. `rows`: the number of rows of topics, and
    `last_ts_ms` their latest time."""

    rest: Rest
    events: list[Event]
    rows: int
    last_ts_ms: int

    @property
    def takeovers(self) -> list[Event]:
        return [event for event in self.events if event.row is not None and event.row["event"] == "Takeover"]


def side_of(part: Part) -> Side:
    """The content of the file raises no error, as in `read_parts`."""
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
