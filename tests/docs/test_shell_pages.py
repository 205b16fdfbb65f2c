"""The commands of README and of the quick starts run as they are written, and print what the pages show."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from servers.process import free_port

CHECKOUT = Path(__file__).resolve().parents[2]
PAGES = ("README.md", "docs/start-testing.md", "docs/start-operating.md")
TIMES = 3  # a run takes ten seconds; the programs of the same pages run 20 times in `test_docs`
SECONDS_MAX = 600
ENDING = "trap 'kill $(jobs -p) 2>/dev/null || true' EXIT\n"  # else a server would hold the pipe
IN_BACKGROUND = r"\1 > serve.log &\nuntil grep -qs ready serve.log; do sleep 0.2; done"
_MEASURED = re.compile(r"[0-9.]+(?= s: done| lines of )")  # by the clock, and what depends on it


def blocks(page: str) -> list[tuple[str, str]]:
    """What a reader types into a shell ("bash") and what that prints ("text"): fenced, or indented for commands."""
    tokens = MarkdownIt("commonmark").parse((CHECKOUT / page).read_text(encoding="utf-8"))
    fences = [(token.info, token.content) for token in tokens if token.type == "fence"]
    return fences + [("bash", token.content) for token in tokens if token.type == "code_block"]


def script_of(page: str, port: int) -> str:
    """All that a reader types, from top to bottom, but for what installs and tests Kedge. The servers have that port,
    and those of which the page says that they stay in their shell run in the background."""
    script = "".join(text for language, text in blocks(page) if language == "bash")
    script = re.sub(r"^(?:pip install|scripts/).*\n", "", script, flags=re.MULTILINE)
    script = re.sub(r"^(kedge serve [^#&\n]+?) *(?:#.*)?$", IN_BACKGROUND, script, flags=re.MULTILINE)
    script = re.sub(r"\b(?:127\.0\.0\.1|broker1):9092", f"127.0.0.1:{port}", script)
    return script.replace("kedge serve", f"kedge serve --listen 127.0.0.1:{port}")


def on_the_path(folder: Path) -> str:
    """A PATH that begins with the interpreter of the tests as `python`, and `kedge` of this checkout."""
    folder.mkdir()
    for name, command in (("python", ""), ("kedge", "-m kedge")):
        (folder / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {command} "$@"\n')
        (folder / name).chmod(0o755)
    return f"{folder}{os.pathsep}{os.environ['PATH']}"


def lines(text: str) -> set[str]:
    """But for what is measured."""
    return {_MEASURED.sub("N", " ".join(line.split())) for line in text.splitlines() if line}


def run(page: str, folder: Path) -> None:
    """Its commands in one shell, in a session of its own, which is ended with all that it left running."""
    folder.mkdir()
    environment = {**os.environ, "PATH": on_the_path(folder / "bin"), "PYTHONPATH": str(CHECKOUT)}
    process = subprocess.Popen(
        ["/bin/bash", "-euo", "pipefail", "-c", ENDING + script_of(page, free_port())],
        cwd=folder,
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
    shown = "\n".join(text for language, text in blocks(page) if language == "text")
    assert lines(shown) - lines(printed) == set(), printed


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize(
    "time",
    [pytest.param(0, marks=pytest.mark.slow), *(pytest.param(n, marks=pytest.mark.full) for n in range(1, TIMES))],
)
def test_the_commands_of_the_page_print_what_it_shows(page: str, time: int, tmp_path: Path) -> None:
    """Each time: placements and threads are others in each run."""
    run(page, tmp_path / str(time))
