"""Prints the findings of a controller that last, one line each, for an operator who reads stderr."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Final

from controller.cli.printing import clean, say

LOOK_S: Final = 1.0
LOOKS_MIN: Final = 5
"""A finding is printed when it was there so many times in a row: a broker that starts is not reached for some
seconds."""


class Findings:
    """Compares what there is with what was there before. `read`: the findings by subject."""

    def __init__(self, read: Callable[[], Mapping[str, str]]) -> None:
        self._read = read
        self._seen: dict[str, int] = {}
        self._printed: dict[str, str] = {}

    def watch(self, ended: threading.Event) -> None:
        """Print until `ended` is set."""
        while not ended.wait(LOOK_S):
            for line in self.look():
                say(line)

    def look(self) -> list[str]:
        """The lines to print now: findings that last, and those that are over."""
        found = dict(self._read())
        self._seen = {subject: self._seen.get(subject, 0) + 1 for subject in found}
        over = [subject for subject in self._printed if subject not in found]
        lines = [clean(f"{subject}: over") for subject in over]
        for subject in over:
            del self._printed[subject]
        for subject, text in found.items():
            if self._seen[subject] >= LOOKS_MIN and self._printed.get(subject) != text:
                self._printed[subject] = text
                lines.append(clean(f"{subject}: {text}"))
        return lines
