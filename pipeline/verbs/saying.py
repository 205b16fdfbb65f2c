"""Reasons as lines, the most frequent first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

from ...controller.model.plural import counted

_LINES_MAX: Final = 20


def reason_counts(reasons: Iterable[str] | Mapping[str, int]) -> dict[str, int]:
    """The number of each reason, the most frequent first, from each occurrence, or from numbers."""
    return dict(sorted(Counter(reasons).items(), key=lambda item: (-item[1], item[0])))


def reason_rows(name: str, what: str, reasons: Mapping[str, int]) -> list[tuple[str, str]]:
    """A line per reason. `what`: what has it, in the singular."""
    shown = [(name, f"{counted(count, what)}: {reason}") for reason, count in list(reasons.items())[:_LINES_MAX]]
    more = len(reasons) - len(shown)
    return [*shown, (name, f"and {counted(more, 'more reason')}")] if more else shown
