"""`kedge serve` as a process of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

DEADLINE_S = 60.0
CHECKOUT = Path(__file__).resolve().parents[2]
_KEDGE = (sys.executable, "-c", "from controller.cli import main; main()", "serve")


def begun(*arguments: str) -> subprocess.Popen[str]:
    """The process, its output in pipes."""
    environment = {**os.environ, "PYTHONPATH": str(CHECKOUT), "PYTHONUNBUFFERED": "1"}
    return subprocess.Popen(
        [*_KEDGE, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    )


@contextmanager
def serving(*arguments: str, is_silent: bool = True) -> Iterator[dict[str, Any]]:
    """Where what listens, as it says itself; at the end it is told to end, and has to, without a word, where
    nothing went wrong that it has to tell of."""
    process = begun("--json", "--listen", "127.0.0.1:0", "--status", "127.0.0.1:0", *arguments)
    assert process.stdout is not None
    assert process.stderr is not None
    try:
        line = process.stdout.readline()
        assert line, process.stderr.read()
        yield json.loads(line)
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=DEADLINE_S)
        assert process.returncode == 0, said
        assert not (is_silent and said)
    except BaseException as error:
        process.kill()
        error.add_note(f"the process said: {process.communicate(timeout=DEADLINE_S)[1]}")
        raise
    finally:
        process.kill()
        process.wait(DEADLINE_S)
