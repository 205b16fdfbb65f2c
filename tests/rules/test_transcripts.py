"""Rules as transcripts: what each command leaves is just what stands below it (`tests.kit.transcripts`). Beside the
text every command is held to the invariants (`tests.rules.world`)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.kit.transcripts import is_as_recorded
from tests.rules.finding import Finding

FOLDER = Path(__file__).resolve().parent / "transcripts"
PROMISES = FOLDER / "moves.txt"
FILES = sorted({*FOLDER.glob("*.txt")} - {PROMISES})


@pytest.mark.slow
@pytest.mark.parametrize("file", FILES, ids=[file.stem for file in FILES])
def test_every_command_leaves_what_is_recorded_below_it(file: Path) -> None:
    """The records, the dirty keys and the answer of each command are those of the transcript."""
    is_as_recorded(file, Finding().play)


@pytest.mark.slow
@pytest.mark.checklist(
    76, 77, 78, 79, 80, 81, 82, 83, 92, 93, 100, 101, 102, 103, 104, 106, 107, 108, 109, 110, 114, 191, 216, 217, 226
)
def test_promises_of_a_move_are_as_recorded() -> None:
    test_every_command_leaves_what_is_recorded_below_it(PROMISES)
