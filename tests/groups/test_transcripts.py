"""A coordinator as transcripts: what each command leaves is just what stands below it.

`KEDGE_RECORD=1 pytest tests/groups/test_transcripts.py` writes what is left now; what `git diff` then shows is the
change of behaviour.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.groups.script import Script

FOLDER = Path(__file__).resolve().parent / "transcripts"
FILES = sorted(FOLDER.glob("*.txt"))


@pytest.mark.checklist(260)
@pytest.mark.parametrize("file", FILES, ids=[file.stem for file in FILES])
def test_every_request_leaves_what_is_recorded_below_it(file: Path) -> None:
    """The answers, the records and the state of the group are those of the transcript."""
    played = Script().play(file.read_text(encoding="utf-8"))
    if os.environ.get("KEDGE_RECORD"):
        file.write_text(played, encoding="utf-8")
    assert played == file.read_text(encoding="utf-8")
