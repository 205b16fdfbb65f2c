"""An audit of a growing journal: `OnePass` over the new rows, from the state kept before, and back to a state.

* The rows form whole commits. So every commit is complete between two steps, and an incomplete one is reported.
* Files are taken in the order of the journal. Lines of a file before the last one read are late: their numbers, their
  chain and the end of their term are checked, but no other rule, because later rows were judged without them. They are
  reported as a gap.
* A throttle that may still be removed, and a torn tail, are no gaps here, since the journal has not ended.
* The state grows with partitions, with what is in flight, and with up to FILES_MAX files.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from operator import attrgetter
from pathlib import Path, PurePath
from typing import Final, NamedTuple, TypeAlias

from ...controller.model.plural import counted
from ..journal.files import place_of
from ..journal.lines import FILE_GONE, Event
from .conclusion import late
from .edges import Edge
from .kept import EPOCHS_MAX, kept_edge, kept_topics, kept_trace, restore_topic, restore_trace, values_of
from .local import OnePass
from .order import FileOrder
from .stitched import first_of_term, suspects
from .values import Gap, RejectedRow, Violation, gaps_in_order, in_order

FILES_MAX: Final = 16
"""How many files of a cluster are remembered. Late lines of an older one are only reported as a gap."""

Said: TypeAlias = Violation | Gap | RejectedRow


class Step(NamedTuple):
    """The result of some rows: the findings, and the state to keep, of the cluster and of each topic that the rows
    name; None: nothing is known of the topic any more."""

    said: list[Said]
    state: bytes
    topics: dict[str, bytes | None]


def follow(state: bytes | None, topics: Mapping[str, bytes | None], events: Sequence[Event]) -> Step:
    """Judge the next rows of a cluster: whole commits, ordered by `place_of` their file and by line. `state`, `topics`:
    the state kept before, None at the beginning; of topics, those that `topics_in` names."""
    one = _Following(state, topics)
    for file, some in groupby(events, attrgetter("file")):
        one.take(file, list(some))
    return Step(one.said(), one.kept(), kept_topics(one.trace, topics))


class _Following(OnePass):
    def __init__(self, state: bytes | None, topics: Mapping[str, bytes | None]) -> None:
        super().__init__()
        self._files: dict[str, FileOrder] = {}
        self._at: FileOrder | None = None  # the file that was read last
        self._told: set[tuple[str, int]] = set()
        if state is not None:
            self._resume(state)
        for kept in topics.values():
            if kept is not None:
                restore_topic(self.trace, kept)

    def take(self, file: str, events: list[Event]) -> None:
        """Take the next rows of a file."""
        at = self._at
        if at is not None and place_of(file) < place_of(at.edge.file):
            self._take_late(file, events, at)
            return
        if at is None or file != at.edge.file:
            if at is not None:
                self._leave(at, events)
            at = self._at = self._files[file] = self.begin(file)
        self.feed(at, events)

    def _leave(self, at: FileOrder, events: Iterable[Event]) -> None:
        """End a file. If it is deleted and the next rows do not continue it, it was not read to its end."""
        last, now = at.edge.last, next((event.row for event in events if event.row is not None), None)
        follows = last is None or now is None or now["epoch"] != last.line.epoch or now.get("prev") == last.line.hash
        if not follows and not Path(at.edge.file).exists():
            self._rest.take(Event(at.edge.file, 0, "", None, FILE_GONE, "before all of it was read"))
        self.end(at)

    def _take_late(self, file: str, events: list[Event], at: FileOrder) -> None:
        order = self._files.setdefault(file, FileOrder(Edge(file)))
        for event in events:
            order.take(event)
            if event.row is None:
                self._rest.take(event)
        epoch = next((event.row["epoch"] for event in events if event.row is not None), None)
        later = PurePath(at.edge.file).name
        text = f"{counted(len(events), 'line')} came after lines of {later}: their rules were not checked"
        self._rest.gaps.append(Gap("late lines", file, events[0].line, epoch, text))

    def said(self) -> list[Said]:
        """The findings of these rows, each kind in the order of the journal."""
        self._found += [*self.trace.end(), *self._throttles.until(self._reached_ms())]
        files = sorted(self._files, key=place_of)
        rank, edges = {file: at for at, file in enumerate(files)}, [self._files[file].edge for file in files]
        known = {epoch for kind, epoch in self._told if kind == "superseded epoch"}
        order = [*late(edges, self._rest, known), *self._order.violations(), *(v for e in edges for v in e.violations)]
        order = list(first_of_term(rank, order, self._told))
        self._told |= {("superseded epoch", epoch) for _, epoch, _ in suspects(edges)}
        found = [one for one in self._found if isinstance(one, Violation)]
        gaps = [*self._rest.gaps, *self._order.gaps(), *(gap for edge in edges for gap in edge.gaps)]
        return [*in_order(rank, found + order), *gaps_in_order(rank, gaps), *self._rest.rejected_rows]

    def _reached_ms(self) -> int:
        return max(self._order.reached_ms, 0 if self._at is None else self._at.reached_ms)

    def kept(self) -> bytes:
        """The state, as `_resume` takes it."""
        files = sorted(self._files, key=place_of)[-FILES_MAX:]
        edges = [kept_edge(self._files[file].edge) for file in files]
        told = set(sorted(self._told, key=lambda one: one[1])[-EPOCHS_MAX:])
        return pickle.dumps((edges, self._order.between, self._epoch, told, kept_trace(self.trace), self._throttles))

    def _resume(self, state: bytes) -> None:
        edges, between, self._epoch, self._told, trace, self._throttles = values_of(state)
        self._files = {edge.file: FileOrder(edge) for edge in edges}
        self._at = list(self._files.values())[-1] if self._files else None
        self._order.resume(*between)
        restore_trace(self.trace, trace)
