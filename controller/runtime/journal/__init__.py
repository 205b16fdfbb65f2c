"""The journal: what the controller did, line by line. For people, the audit and replay; never the truth (the store is).

`Journal` writes the lines of a term to a sink. The fields of a line stand in `lines`.
"""

from controller.runtime.journal.journal import Journal
from controller.runtime.journal.lines import Decided
from controller.runtime.journal.sinks import CallableSink, MemorySink, Sink

__all__ = ["CallableSink", "Decided", "Journal", "MemorySink", "Sink"]
