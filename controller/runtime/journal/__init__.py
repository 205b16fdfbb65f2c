"""The journal: what the controller did, line by line. For people, the audit and replay; never the truth (the store is).

`Journal` writes the lines of a term to a sink, `Reading` gives them back and checks them. The fields stand in `lines`.
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
