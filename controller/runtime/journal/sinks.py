"""Sinks: where lines are written. In memory, or to a function of the host; `files` has the folder of files.

A sink is called by one thread, and may raise anything: the journal counts what was lost and continues.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Protocol, runtime_checkable

LINES_KEPT_MAX = 1_000_000


@runtime_checkable
class Sink(Protocol):
    """The target of a journal."""

    def begin(self, controller_epoch: int) -> None:
        """A term begins, to which the following lines belong. Does no I/O and raises nothing."""

    def write(self, lines: Sequence[bytes]) -> None:
        """Write the lines of one commit, without line ends: all of them, or raise and write none."""

    def close(self) -> None:
        """Close what is open; a later `begin` opens it again. Raises nothing."""


class MemorySink:
    """Keeps the last `lines_max` lines, as text without line ends, in `lines`; for tests and the rig."""

    def __init__(self, lines_max: int = LINES_KEPT_MAX) -> None:
        self.lines: deque[str] = deque(maxlen=lines_max)

    def begin(self, controller_epoch: int) -> None:
        """Does nothing: each line has its term."""

    def write(self, lines: Sequence[bytes]) -> None:
        """The lines are in `lines`."""
        self.lines.extend(line.decode("ascii") for line in lines)

    def close(self) -> None:
        """The lines stay."""


class CallableSink:
    """Calls `take` once per commit, with its lines as text without line ends. If `take` raises, the journal counts the
    commit as lost, whether or not `take` kept a part of it."""

    def __init__(self, take: Callable[[Sequence[str]], object]) -> None:
        if not callable(take):
            raise TypeError(f"take must be callable with the lines of each commit, not {take!r:.200}")
        self._take = take

    def begin(self, controller_epoch: int) -> None:
        """Does nothing: each line has its term."""

    def write(self, lines: Sequence[bytes]) -> None:
        """Call the function with the lines of one commit. Raises what it raises."""
        self._take([line.decode("ascii") for line in lines])

    def close(self) -> None:
        """Does nothing: the function belongs to the host."""
