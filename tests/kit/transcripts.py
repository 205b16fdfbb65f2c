"""Transcripts: lines of commands, below each the indented lines that it left. Comments (#) and blank lines stay.

`KEDGE_RECORD=1 pytest FILE` writes what is left now; what `git diff` then shows is the change of behaviour.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path


def played(text: str, command: Callable[[str], Iterable[str]]) -> str:
    """The transcript with its commands, and what they leave now."""
    written = []
    for line in text.splitlines():
        if not line.startswith("  "):
            written.append(line)
            if line and not line.startswith("#"):
                written += [f"  {left}" for left in command(line)]
    return "\n".join(written) + "\n"


def is_as_recorded(file: Path, play: Callable[[str], str]) -> None:
    """What is left now is what the file says."""
    left = play(file.read_text(encoding="utf-8"))
    if os.environ.get("KEDGE_RECORD"):
        file.write_text(left, encoding="utf-8")
    assert left == file.read_text(encoding="utf-8")
