"""The journal: the decisions of a controller, line by line, for people, audits and replay. The store is the truth.

`Journal` writes the lines of a term to a sink; `Reading` reads and checks them. `lines` has the fields.
"""

from controller.runtime.journal.files import FolderSink, Fsync
from controller.runtime.journal.journal import Journal
from controller.runtime.journal.lines import EVENTS, Decided
from controller.runtime.journal.reader import JournalError, JournalProblem, Reading
from controller.runtime.journal.sinks import CallableSink, MemorySink, Sink

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
