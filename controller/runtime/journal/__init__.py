"""The journal: the decisions of a controller, line by line, for people, audits and replay. The store is the truth.

`Journal` writes the lines of a term to a sink; `Reading` reads and checks them. A record says what its lines are
(`kedge.controller.records`).
"""

from typing import Final

from ... import records
from ...model.records import Record
from .files import FolderSink as FolderSink
from .files import Fsync as Fsync
from .journal import Decided as Decided
from .journal import Journal as Journal
from .reader import JournalError as JournalError
from .reader import JournalProblem as JournalProblem
from .reader import Reading as Reading
from .sinks import CallableSink as CallableSink
from .sinks import MemorySink as MemorySink
from .sinks import Sink as Sink

EVENTS: Final = frozenset({"Takeover", "Resigned", "Conflict", "Gap"}).union(
    *(kind.EVENTS for kind in vars(records).values() if isinstance(kind, type) and issubclass(kind, Record))
)
"""All events of lines: those of records, and those without one (`unrecorded`)."""
