"""The journal: the decisions of a controller, line by line, for people, audits and replay. The store is the truth.

`Journal` writes the lines of a term to a sink; `Reading` reads and checks them. A record says what its lines are
(`kedge.controller.records`).
"""

from typing import Final

from ... import records
from ...model.records import Record
from .files import FolderSink, Fsync
from .journal import Decided, Journal
from .reader import JournalError, JournalProblem, Reading
from .sinks import CallableSink, MemorySink, Sink

EVENTS: Final = frozenset({"Takeover", "Resigned", "Conflict", "Gap"}).union(
    *(kind.EVENTS for kind in vars(records).values() if isinstance(kind, type) and issubclass(kind, Record))
)
"""All events of lines: those of records, and those without one (`unrecorded`)."""

__all__ = [
    "EVENTS",
    "CallableSink",
    "Decided",
    "FolderSink",
    "Fsync",
    "Journal",
    "JournalError",
    "JournalProblem",
    "MemorySink",
    "Reading",
    "Sink",
]
