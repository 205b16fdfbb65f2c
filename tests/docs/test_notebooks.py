"""Each notebook runs as it is, and its committed outputs are what its cells print."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((CHECKOUT / "examples").glob("*.ipynb"))
RUNNER = CHECKOUT / "tests" / "docs" / "notebooks.py"
SECONDS_MAX = 120
BYTES_MAX = 40_000


def run(notebook: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", str(RUNNER), str(notebook)],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS_MAX,
        check=False,
    )


def planted(folder: Path, source: str, printed: list[str]) -> Path:
    """A notebook of one code cell, with these lines as its outputs."""
    outputs = [{"name": "stdout", "output_type": "stream", "text": printed}] if printed else []
    cell: dict[str, Any] = {"cell_type": "code", "id": "only", "source": [source], "outputs": outputs}
    path = folder / "planted.ipynb"
    path.write_text(json.dumps({"cells": [cell]}))
    return path


@pytest.mark.slow
@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.name)
def test_the_notebook_prints_its_committed_outputs(notebook: Path, tmp_path: Path) -> None:
    """Its code cells run in a fresh process, without Jupyter: nbclient and ipykernel would add 39 packages and 105 MB
    to what every run of the tests installs. Warnings are errors, and so is a word on stderr."""
    done = run(notebook, tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.name)
def test_the_notebook_shows_outputs_and_is_small(notebook: Path) -> None:
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    assert sum(bool(cell.get("outputs")) for cell in cells) >= 3
    assert notebook.stat().st_size < BYTES_MAX


@pytest.mark.parametrize(
    "source,committed,error",
    [
        ("print('one')", ["one\n"], ""),
        ("print('one')", ["two\n"], "cells only"),
        ("print('one')", [], "cells only"),
        ("raise LookupError('here')", [], "LookupError: here"),
        ("print('one')\n1 + 1", ["one\n"], "RefusedCell: cell only"),
    ],
    ids=["right", "other", "absent", "raises", "a value that Jupyter would show and nothing compares"],
)
def test_only_what_cells_print_passes(tmp_path: Path, source: str, committed: list[str], error: str) -> None:
    done = run(planted(tmp_path, source, committed), tmp_path)
    assert (done.returncode, error in done.stderr) == (int(bool(error)), True)
