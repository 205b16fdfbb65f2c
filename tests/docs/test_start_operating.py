"""The quick start for operators works as it is written, and prints what it shows."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from servers.process import free_port

CHECKOUT = Path(__file__).resolve().parents[2]
PAGE = CHECKOUT / "docs" / "start-operating.md"
SECONDS_MAX = 180
ENDING = "trap 'kill $(jobs -p) 2>/dev/null || true' EXIT\n"  # else a server would hold the pipe
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_NUMBER = re.compile(r"\d+(?:\.\d+)?")


def script_of(blocks: list[tuple[str, str]], port: int) -> str:
    """All that a reader types, from top to bottom, with another port."""
    typed = [text if language == "bash" else f"python - <<'END'\n{text}END\n" for language, text in blocks]
    script = "\n".join(typed).replace("127.0.0.1:9092", f"127.0.0.1:{port}")
    return script.replace("kedge serve", f"kedge serve --listen 127.0.0.1:{port}")


def on_the_path(folder: Path) -> str:
    """A PATH that begins with the interpreter of the tests as `python`, and `kedge` of this checkout."""
    folder.mkdir()
    for name, command in (("python", ""), ("kedge", "-m kedge")):
        (folder / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {command} "$@"\n')
        (folder / name).chmod(0o755)
    return f"{folder}{os.pathsep}{os.environ['PATH']}"


def without_numbers(text: str) -> set[str]:
    """Its lines, but for the numbers: sizes of batches and times differ a little."""
    return {_NUMBER.sub("N", " ".join(line.split())) for line in text.splitlines() if line}


@pytest.mark.full
def test_the_quick_start_runs_and_prints_what_it_shows(tmp_path: Path) -> None:
    """Its commands in one shell, in a session of its own, which is ended with all that it left running."""
    blocks = _BLOCK.findall(PAGE.read_text(encoding="utf-8"))
    script = script_of([block for block in blocks if block[0] in ("bash", "python")], free_port())
    environment = {**os.environ, "PATH": on_the_path(tmp_path / "bin"), "PYTHONPATH": str(CHECKOUT)}
    process = subprocess.Popen(
        ["/bin/bash", "-euo", "pipefail", "-c", ENDING + script],
        cwd=tmp_path,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        printed, _ = process.communicate(timeout=SECONDS_MAX)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    assert process.returncode == 0, printed
    shown = "\n".join(text for language, text in blocks if language == "text")
    assert without_numbers(shown) - without_numbers(printed) == set()
