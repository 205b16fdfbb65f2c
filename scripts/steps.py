"""One run of the checks: its steps, and the modules that it starts in the environment."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import ending
import environment
import report


@dataclass
class Run:
    """One run of the script: where its files go, and what came out so far."""

    python: Path
    files: Path
    began: float = field(default_factory=time.monotonic)
    signals: ending.Ending | None = None
    left_out: list[str] = field(default_factory=list)
    steps: list[report.Step] = field(default_factory=list)
    parts: list[report.Part] = field(default_factory=list)

    @contextmanager
    def step(self, name: str) -> Iterator[report.Step]:
        """Print the name, time what happens inside, and keep the outcome for the table."""
        print(f"\n--- {name}", flush=True)
        step = report.Step(name)
        began = time.monotonic()
        try:
            yield step
        finally:
            step.seconds = time.monotonic() - began
            self.steps.append(step)

    def call(
        self,
        *arguments: str,
        python: Path | None = None,
        variables: Mapping[str, str] | None = None,
        cwd: Path = environment.CHECKOUT,
        output: IO[str] | None = None,
    ) -> int:
        """Run a module of the environment, or of another Python's, with output to the terminal, or to a file, and
        nothing to read. Returns its exit code."""
        if self.signals is not None and self.signals.begun:
            return 1
        python = python or self.python
        path = f"{python.parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
        return subprocess.run(
            [str(python), "-m", *arguments],
            cwd=cwd,
            env={**os.environ, "PATH": path, **(variables or {})},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=None if output is None else subprocess.STDOUT,
            check=False,
        ).returncode

    def note(self, name: str, *command: str) -> tuple[int, str]:
        """Run a module that says in a line or two what it found; print that, and return it with the exit code."""
        said = self.files / f"{name}.txt"
        with said.open("w") as output:
            code = self.call(*command, output=output)
        text = said.read_text().strip()
        print(text, flush=True)
        return code, " ".join(text.split())
