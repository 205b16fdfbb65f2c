"""Rules as transcripts: what each command leaves is just what stands below it.

`KEDGE_RECORD=1 pytest tests/rules/test_transcripts.py` writes what is left now; what `git diff` then shows is the
change of behaviour. Beside the text every command is held to the invariants (`tests.rules.world`).
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.rules.script import play

FOLDER = Path(__file__).resolve().parent / "transcripts"
FILES = sorted(FOLDER.glob("*.txt"))


@pytest.mark.slow
@pytest.mark.parametrize("file", FILES, ids=[file.stem for file in FILES])
def test_every_command_leaves_what_is_recorded_below_it(file: Path) -> None:
    """The records, the dirty keys and the answer of each command are those of the transcript."""
    told = play(file)
    if os.environ.get("KEDGE_RECORD"):
        file.write_text(told, encoding="utf-8")
    assert told == file.read_text(encoding="utf-8")
