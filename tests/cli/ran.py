"""How the tests of this folder run `kedge` in a process of its own, and what they expect of one that is refused."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

from click.testing import Result

CHECKOUT: Final = Path(__file__).resolve().parents[2]
KEDGE: Final = (sys.executable, "-m", "kedge")


def refused(done: Result, code: int = 2) -> str:
    """What a command that was refused printed: one line on stderr, nothing on stdout."""
    assert (done.exit_code, done.stdout, len(done.stderr.splitlines())) == (code, "", 1), done.output
    return done.stderr


def ended(*arguments: object, hides: str = "", **variables: str) -> subprocess.CompletedProcess[str]:
    """`kedge` in a process of its own, once it has ended. `hides`: a package that is not installed there."""
    hide = f"import sys; sys.modules[{hides!r}] = None; " if hides else ""
    program = f"{hide}from kedge.controller.cli import main; main()"
    command = [sys.executable, "-c", program, *map(str, arguments)]
    environment = {**os.environ, **variables}
    return subprocess.run(command, cwd=CHECKOUT, env=environment, capture_output=True, text=True, check=False)


def loaded_by(*arguments: object) -> set[str]:
    """The modules that a process has loaded after it ran `kedge`."""
    program = (
        "import atexit, sys; from kedge.controller.cli.root import kedge\n"
        "atexit.register(lambda: print('loaded:', *sys.modules, sep='\\n'))\n"
        "kedge(sys.argv[1:], prog_name='kedge')"
    )
    command = [sys.executable, "-W", "error", "-c", program, *map(str, arguments)]
    done = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr, done.stderr
    return set(done.stdout.partition("loaded:\n")[2].split())
