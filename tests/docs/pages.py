"""Runs the code of a page of documentation, as a reader would who types it in from top to bottom.

Rules
* Every fenced block in `python` is run; the blocks of one page share a namespace, pages share nothing.
* What the blocks print is on the page, in the same order: in a comment behind the `print` or below it. `...` stands for
  any text, where the output depends on chance or on the machine.
* A block in `bash run` is run by bash in the same folder; a plain `bash` block is for the reader, because it may start
  servers or install things.
* There is no way to skip a python block. What cannot be run is not python but `text`.
* A block in a spelling that would be passed over in silence (`py`, `python3`, `python title=...`) is refused.
"""

from __future__ import annotations

import re
import subprocess
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

from sybil import Document, Example
from sybil.evaluators.python import PythonEvaluator
from sybil.parsers.markdown import CodeBlockParser

_PRINTS = re.compile(r"^ *print\(.*\)(?:  # |\n# )(.+)$", re.MULTILINE)
_LANGUAGE = re.compile(r"^[ \t>*-]*(?:`{3,}|~{3,})[ \t]*(\S[^\n]*)$", re.MULTILINE)
_PASSED_OVER = re.compile(r"py|pyi|pycon|python\d*\b.*", re.IGNORECASE)


class RefusedPage(ValueError):
    """The page holds a block that looks like one to run and would not be run."""


def run(page: Path, folder: Path) -> int:
    """Every block of `page` that is to be run has run in the current process, commands in `folder`.

    Returns how many. Raises what the block raised, with the page and its line in the traceback, and OtherOutput.
    """
    python = CodeBlockParser("python", _Python())
    document = Document.parse(str(page), python, CodeBlockParser("bash run", _Bash(folder)))
    for language in _LANGUAGE.findall(document.text):
        if language != "python" and _PASSED_OVER.fullmatch(language.strip()):
            raise RefusedPage(f"{page.name}: a block is spelled {language!r}, expected 'python'")
    examples = list(document.examples())
    for example in examples:
        example.evaluate()
    return len(examples)


class OtherOutput(AssertionError):
    """A block printed something else than the page shows."""


class _Python:
    """Runs a block, and compares what it prints with its comments."""

    def __init__(self) -> None:
        self._evaluate = PythonEvaluator()

    def __call__(self, example: Example) -> None:
        with redirect_stdout(StringIO()) as output:
            self._evaluate(example)
        printed, shown = output.getvalue().splitlines(), _PRINTS.findall(example.parsed)
        if len(printed) != len(shown) or not all(map(fits, shown, printed)):
            raise OtherOutput(f"{example.path}, line {example.line}: printed {printed}, the page shows {shown}")


def fits(shown: str, printed: str) -> bool:
    """Whether a line is the one that the page shows, where `...` stands for any text."""
    return re.fullmatch(".*".join(map(re.escape, shown.split("..."))), printed) is not None


class _Bash:
    """Runs a block; a command that fails ends it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __call__(self, example: Example) -> None:
        subprocess.run(
            ["/bin/bash", "-euo", "pipefail", "-c", example.parsed], cwd=self._folder, check=True, timeout=60
        )
