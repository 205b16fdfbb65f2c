"""Runs the code of a page of documentation, as a reader would who types it in from top to bottom.

Rules
* Every fenced block in `python` is run; the blocks of one page share a namespace, pages share nothing.
* A block in `bash run` is run by bash in the same folder; a plain `bash` block is for the reader, because it may start
  servers or install things.
* There is no way to skip a python block. What cannot be run is not python but `text`.
* A block in a spelling that would be passed over in silence (`py`, `python3`, `python title=...`) is refused.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from sybil import Document, Example
from sybil.evaluators.python import PythonEvaluator
from sybil.parsers.markdown import CodeBlockParser

PYTHON = CodeBlockParser("python", PythonEvaluator())
_LANGUAGE = re.compile(r"^[ \t>*-]*(?:`{3,}|~{3,})[ \t]*(\S[^\n]*)$", re.MULTILINE)
_PASSED_OVER = re.compile(r"py|pyi|pycon|python\d*\b.*", re.IGNORECASE)


class RefusedPage(ValueError):
    """The page holds a block that looks like one to run and would not be run."""


def run(page: Path, folder: Path) -> int:
    """Every block of `page` that is to be run has run in the current process, commands in `folder`.

    Returns how many. Raises what the block raised, with the page and its line in the traceback.
    """
    document = Document.parse(str(page), PYTHON, CodeBlockParser("bash run", _Bash(folder)))
    for language in _LANGUAGE.findall(document.text):
        if language != "python" and _PASSED_OVER.fullmatch(language.strip()):
            raise RefusedPage(f"{page.name}: a block is spelled {language!r}, expected 'python'")
    examples = list(document.examples())
    for example in examples:
        example.evaluate()
    return len(examples)


class _Bash:
    """Runs a block; a command that fails ends it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __call__(self, example: Example) -> None:
        subprocess.run(
            ["/bin/bash", "-euo", "pipefail", "-c", example.parsed], cwd=self._folder, check=True, timeout=60
        )
