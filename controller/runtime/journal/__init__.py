"""The journal: the decisions of a controller, line by line, for people, audits and replay. The store is the truth.

`Journal` writes the lines of a term to a sink; `Reading` reads and checks them. `lines` has the fields.
"""

from .files import FolderSink, Fsync
from .journal import Journal
from .lines import EVENTS, Decided
from .reader import JournalError, JournalProblem, Reading
from .sinks import CallableSink, MemorySink, Sink

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
