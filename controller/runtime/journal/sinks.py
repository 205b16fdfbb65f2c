"""Where lines go: nowhere (no sink), into memory, to a callable of the host's; a folder of files stands in `files`.

A sink is called by one thread, and may raise whatever it likes: the journal counts what was lost and goes on.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Protocol, runtime_checkable

LINES_KEPT_MAX = 1_000_000


@runtime_checkable
class Sink(Protocol):
    """What a journal writes to."""

    def begin(self, controller_epoch: int) -> None:
        """A term begins: what is written from now on belongs to it. Does no I/O and raises nothing."""

    def write(self, lines: Sequence[bytes]) -> None:
        """The lines of one commit, without line ends: afterwards all are there, or it raises and none is."""

    def close(self) -> None:
        """Nothing is held open any more; a later `begin` opens again. Raises nothing."""


class MemorySink:
    """Keeps the last `lines_max` lines, as text without line ends, in `lines`; for tests and the rig."""

    def __init__(self, lines_max: int = LINES_KEPT_MAX) -> None:
        self.lines: deque[str] = deque(maxlen=lines_max)

    def begin(self, controller_epoch: int) -> None:
        """Nothing to do: a line says its term."""

    def write(self, lines: Sequence[bytes]) -> None:
        self.lines.extend(line.decode("ascii") for line in lines)

    def close(self) -> None:
        """The lines stay."""


class CallableSink:
    """Calls `take` once per commit, with its lines as text without line ends. If `take` raises, the journal counts the
    commit as lost; what `take` kept of it is its own affair."""

    def __init__(self, take: Callable[[Sequence[str]], object]) -> None:
        if not callable(take):
            raise TypeError(f"take is called with the lines of each commit: {take!r:.200} cannot be")
        self._take = take

    def begin(self, controller_epoch: int) -> None:
        """Nothing to do: a line says its term."""

    def write(self, lines: Sequence[bytes]) -> None:
        self._take([line.decode("ascii") for line in lines])

    def close(self) -> None:
        """The callable is the host's."""
