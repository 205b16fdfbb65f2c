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


def test_the_notebook_of_plans_is_there() -> None:
    assert "planning.ipynb" in [path.name for path in NOTEBOOKS]


def test_a_cell_that_raises_fails(tmp_path: Path) -> None:
    done = run(planted(tmp_path, "print('begun')\nraise LookupError('here')", ["begun\n"]), tmp_path)
    assert done.returncode == 1
    assert "LookupError: here" in done.stderr


@pytest.mark.parametrize("committed", [[], ["two\n"]], ids=["absent", "other"])
def test_absent_or_other_outputs_are_found(tmp_path: Path, committed: list[str]) -> None:
    done = run(planted(tmp_path, "print('one')", committed), tmp_path)
    assert (done.returncode, "cells only" in done.stderr) == (1, True)


def test_the_right_outputs_pass(tmp_path: Path) -> None:
    assert run(planted(tmp_path, "print('one')", ["one\n"]), tmp_path).returncode == 0


def test_a_value_in_the_last_line_is_refused(tmp_path: Path) -> None:
    """Jupyter would show it, and the page would have an output that nothing compares."""
    done = run(planted(tmp_path, "print('one')\n1 + 1", ["one\n"]), tmp_path)
    assert "RefusedCell: cell only" in done.stderr
