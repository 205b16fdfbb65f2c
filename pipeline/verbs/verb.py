"""The protocol of verbs, their result, and one run: from the place of a snapshot to its result or the error."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import attrs

from ..errors import PipelineError
from ..tables.arrow import Arrow
from ..tables.files import Place, Wanted, read_all
from ..written import written_as

Tables: TypeAlias = dict[str, Arrow]
Told: TypeAlias = Callable[[int, int], None]
"""Called with the amount done and the total."""


@attrs.frozen
class Said:
    """The result for a snapshot: a JSON object, lines for people (a name and a text), and the exit code."""

    row: dict[str, Any]
    lines: Sequence[tuple[str, str]]
    code: int = 0


class Verb(Protocol):
    """It is sent to other processes, so it holds values only. It may be run again for the same snapshot."""

    @property
    def title(self) -> str:
        """The title of a progress bar."""

    @property
    def wanted(self) -> Sequence[Wanted]:
        """The tables that it reads."""

    def run(self, place: Place, given: Tables, told: Told) -> Said:
        """Compute the result from the tables `given`, and write it at `place`, unless it is a dry run. Raises
        PipelineError, and OSError if a file cannot be written."""


def attempt(verb: Verb, place: Place, told: Told) -> Said | PipelineError:
    """The result for the snapshot at `place`, or why it cannot be used; other snapshots are not affected."""
    try:
        return verb.run(place, read_all(place, verb.wanted), told)
    except PipelineError as error:
        return error


def unheard(_: int, __: int) -> None:
    """No progress bar."""


@attrs.frozen
class Output:
    """Where to write something besides the tables: a file; for several clusters a folder with a file for each, for
    several snapshots one with a folder per cluster."""

    path: Path
    suffix: str
    by_cluster: bool = False
    by_snapshot: bool = False

    def write(self, place: Place, data: bytes) -> None:
        """Raises OSError naming the file."""
        name = f"{place.cluster}/{place.snapshot}" if self.by_snapshot else place.cluster
        path = self.path / f"{name}.{self.suffix}" if self.by_cluster or self.by_snapshot else self.path
        with written_as(path):
            if path != self.path:
                path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
