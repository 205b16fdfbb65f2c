"""What is no event of a journal: rejected lines, torn tails, deleted files."""

from __future__ import annotations

from ..journal.lines import BAD_LINE, FILE_GONE, TORN_TAIL, Event
from .values import Gap, RejectedRow


class Rest:
    """Collects what is no event: rejected lines, torn tails, deleted files."""

    def __init__(self) -> None:
        self.rejected_rows: list[RejectedRow] = []
        self.gaps: list[Gap] = []
        self.gone: set[str] = set()

    def take(self, event: Event) -> None:
        reason = event.reason or ""
        if event.problem == BAD_LINE:
            self.rejected_rows.append(RejectedRow(event.file, event.line, event.raw or "", reason))
        elif event.problem == FILE_GONE:
            self.gone.add(event.file)
        if event.problem in (BAD_LINE, TORN_TAIL, FILE_GONE):
            self.gaps.append(Gap(event.problem, event.file, event.line, None, reason))
