"""Runs a command of Kedge in this process, or an example in a process of its own."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Final

from click.testing import CliRunner, Result

from kedge.controller.cli.root import kedge


def run(*arguments: object) -> Result:
    """`kedge` with these arguments, as texts."""
    return CliRunner().invoke(kedge, [str(argument) for argument in arguments])


CHECKOUT: Final = Path(__file__).resolve().parents[2]


def run_example(name: str, *arguments: object, seconds_max: float, logs: str = "") -> str:
    """The output of `python -m examples.NAME`. AssertionError if it fails, or prints anything to stderr but lines that
    match `logs`; Python's warnings are errors."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", f"examples.{name}", *map(str, arguments)],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        timeout=seconds_max,
        check=False,
    )
    unexpected = [line for line in done.stderr.splitlines() if not re.fullmatch(logs, line)]
    assert (done.returncode, unexpected) == (0, []), f"exit code {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def plan(*arguments: object) -> Result:
    """`kedge plan` with these arguments."""
    return run("plan", *arguments)
