"""What a verb is, what it says, and one run of it: in, the place of a snapshot; out, what is said of it, or why nothing
is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import attrs

from pipeline.errors import PipelineError
from pipeline.tables.arrow import Arrow
from pipeline.tables.files import Place, Wanted, read_all
from pipeline.written import written_as

Tables: TypeAlias = dict[str, Arrow]
Told: TypeAlias = Callable[[int, int], None]
"""Called with how much is done, of how much."""


@attrs.frozen
class Said:
    """Of a snapshot: as a JSON object, as lines for a person (a name and what is said of it), and the exit code."""

    row: dict[str, Any]
    lines: Sequence[tuple[str, str]]
    code: int = 0


class Verb(Protocol):
    """It travels to other processes, so it holds values alone. It may run again where it ran before."""

    @property
    def title(self) -> str:
        """For a bar."""

    @property
    def wanted(self) -> Sequence[Wanted]:
        """The tables that it reads."""

    def run(self, place: Place, given: Tables, told: Told) -> Said:
        """Make of the tables `given` what it makes, and write that at `place`, unless it is a dry run. Raises
        PipelineError, and OSError where something cannot be written."""


def attempt(verb: Verb, place: Place, told: Told) -> Said | PipelineError:
    """What is said of the snapshot at `place`, or why it cannot be used: that harms no other."""
    try:
        return verb.run(place, read_all(place, verb.wanted), told)
    except PipelineError as error:
        return error


def unheard(_: int, __: int) -> None:
    """For who counts snapshots, and not what is done of each."""


@attrs.frozen
class Output:
    """Where something goes beside the tables: a file; or of several clusters a folder with a file of each, of several
    snapshots one with a folder per cluster."""

    path: Path
    suffix: str
    by_cluster: bool = False
    by_snapshot: bool = False

    def write(self, place: Place, data: bytes) -> None:
        """OSError names the file."""
        name = f"{place.cluster}/{place.snapshot}" if self.by_snapshot else place.cluster
        path = self.path / f"{name}.{self.suffix}" if self.by_cluster or self.by_snapshot else self.path
        with written_as(path):
            if path != self.path:
                path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
