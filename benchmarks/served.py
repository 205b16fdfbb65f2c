"""`kedge serve` as a process of its own, for programs that measure it from outside."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

COMMAND: Final = "from controller.cli import main; main()"


@contextmanager
def served(*options: str) -> Iterator[str]:
    """A cluster without a status page at free ports of the loopback; gives its bootstrap address once it serves."""
    where = ["--listen", "127.0.0.1:0", "--no-status", "--json"]
    process = subprocess.Popen(  # noqa: S603 - our own program
        [sys.executable, "-c", COMMAND, "serve", *where, *options], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        yield json.loads(process.stdout.readline())["bootstrap"]
    finally:
        process.terminate()
        process.communicate()
