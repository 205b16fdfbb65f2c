"""Run the checks of the house and say what came out.

Runs under a Python in which nothing is installed; the tools run in the environment that environment.py makes.

Rules
* Every check runs, whatever failed before it; the exit code is 0 only if all of them passed.
* A part of the tests is a folder of tests/ that holds a test file, so a new folder is a new part without a change here.
  Parts run one after the other, each in a process of its own: a part that hangs, leaks or kills its process
  cannot hide in another, and its seconds are its own.
* Each part leaves a report (tests/checklist.py writes it); a part without one has failed, whatever its exit code.
* The simulation runs beside the others, on a core of its own, and is not traced: that would treble its time.
* Rooms with a floor of coverage are held to it over all other parts, by lines and by branches, each on its own.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import environment
import report

CHECKOUT = environment.CHECKOUT
# Small things first, what is built of them later, the pages that describe it all last.
ORDER = ("unit", "house", "stores", "conformance", "simulation")
LAST = ("docs",)
BESIDE = "tests/simulation"

TOOLS = {
    "ruff check": ["ruff", "check", "."],
    "ruff format": ["ruff", "format", "--check", "."],
    "mypy": ["mypy", "."],
}


@dataclass
class Run:
    """One run of the script: where its files go, and what came out so far."""

    python: Path
    files: Path
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
        variables: Mapping[str, str] | None = None,
        cwd: Path = CHECKOUT,
        output: IO[str] | None = None,
    ) -> int:
        """Run a module of the environment with output to the terminal, or to a file, and nothing to read. Returns its
        exit code."""
        path = f"{self.python.parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
        return subprocess.run(
            [str(self.python), "-m", *arguments],
            cwd=cwd,
            env={**os.environ, "PATH": path, **(variables or {})},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=None if output is None else subprocess.STDOUT,
            check=False,
        ).returncode


def parts() -> list[str]:
    """The folders of tests/ that hold a test file at any depth, in the order in which they run."""
    folders = {path.relative_to(CHECKOUT / "tests").parts[0] for path in (CHECKOUT / "tests").glob("*/**/test_*.py")}
    rank = {name: place for place, name in enumerate(ORDER)} | dict.fromkeys(LAST, len(ORDER) + 1)
    return [f"tests/{name}" for name in sorted(folders, key=lambda name: (rank.get(name, len(ORDER)), name))]


def run_tools(run: Run) -> None:
    for name, command in TOOLS.items():
        with run.step(name) as step:
            step.failed = run.call(*command) != 0


def run_part(run: Run, name: str, *arguments: str, coverage: bool) -> None:
    launcher = ["coverage", "run", "--parallel-mode", "-m", "pytest"] if coverage else ["pytest"]
    with run.step(name) as step:
        code = run.call(*launcher, name, *arguments, variables=_variables(run, name))
        take_report(run, name, step, code)


def _report_file(run: Run, name: str) -> Path:
    return run.files / f"{name.replace('/', '-')}.json"


def _variables(run: Run, name: str) -> dict[str, str]:
    return {"COVERAGE_FILE": str(run.files / "coverage"), "KEDGE_TEST_REPORT": str(_report_file(run, name))}


def take_report(run: Run, name: str, step: report.Step, code: int) -> None:
    """What the part says of itself goes into its step."""
    part = report.read_part(_report_file(run, name))
    step.failed = code != 0 or part is None
    if part is None:
        step.note = f"no report: pytest ended with exit code {code}"
    else:
        step.note = report.counts(part.outcomes)
        run.parts.append(part)


@contextmanager
def beside(run: Run, name: str) -> Iterator[None]:
    """The part runs while the block does, its output into a file, which is printed at the end."""
    output, step = run.files / "beside.txt", report.Step(name)

    def work() -> int:
        began = time.monotonic()
        with output.open("w") as file:
            code = run.call("pytest", name, variables=_variables(run, name), output=file)
        step.seconds = time.monotonic() - began
        return code

    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(work)
        yield
        print(f"\n--- {name}, which ran beside the others", flush=True)
        take_report(run, name, step, running.result())
        print(output.read_text(), flush=True)
    run.steps.append(step)


def run_coverage(run: Run) -> list[report.Room]:
    data = {"COVERAGE_FILE": str(run.files / "coverage")}
    target = CHECKOUT / "build" / "coverage.json"
    target.unlink(missing_ok=True)
    rooms: list[report.Room] = []
    with run.step("coverage") as step:
        step.failed = (
            run.call("coverage", "combine", "--quiet", variables=data) != 0
            or run.call("coverage", "json", "--quiet", "-o", str(target), variables=data) != 0
        )
        if target.exists():
            rooms = report.read_rooms(target)
            step.failed = step.failed or any(room.failed for room in rooms)
    return rooms


def run_all(run: Run) -> list[report.Room]:
    run_tools(run)
    names = parts()
    with run.step("parts") as step:
        step.failed = not names
        step.note = ", ".join(names) if names else "no folder of tests/ holds a test file"
        print(step.note)
    with beside(run, BESIDE):
        for name in names:
            if name != BESIDE:
                run_part(run, name, coverage=True)
    return run_coverage(run)


def run_fast(run: Run) -> None:
    run_tools(run)
    # One process for all parts: starting pytest costs more than most of the quick tests.
    run_part(run, "tests", "-m", "not slow", coverage=False)


def close(run: Run, rooms: list[report.Room], *, listed: bool) -> int:
    """Print the tables and the closing lines. Returns the exit code."""
    print()
    print("\n".join(report.step_table(run.steps)))
    if rooms:
        print()
        print("\n".join(report.room_table(rooms)))
    print()
    print("\n".join(report.checklist_lines(run.parts, listed=listed)))
    failed = [step.name for step in run.steps if step.failed]
    print(f"failed: {', '.join(failed)}" if failed else "every check passed")
    print(report.counts(sum((Counter(part.outcomes) for part in run.parts), Counter())))
    return 1 if failed else 0


def arguments() -> tuple[argparse.Namespace, list[str]]:
    parser = argparse.ArgumentParser(
        prog="scripts/test",
        description="Run every check of the house: ruff, mypy, the tests in parts, coverage.",
        allow_abbrev=False,  # what is not spelled out belongs to pytest
        epilog="With paths or options of pytest, run only pytest with them: scripts/test tests/stores -k session",
    )
    parser.add_argument("--fast", action="store_true", help="ruff, mypy and the tests not marked slow; no coverage")
    parser.add_argument("--checklist", action="store_true", help="list the rows of the checklist without a test")
    return parser.parse_known_args()


def main() -> int:
    chosen, for_pytest = arguments()
    if chosen.fast and for_pytest:
        print(f"scripts/test: --fast takes no paths and no options of pytest, got {for_pytest}", file=sys.stderr)
        return 2
    began = time.monotonic()
    try:
        python = environment.prepare()
    except environment.InstallFailed as failure:
        print(failure, file=sys.stderr)
        return 1
    files = Path(tempfile.mkdtemp(prefix="run-", dir=CHECKOUT / "build"))
    run = Run(python, files)
    try:
        if for_pytest:
            # Paths are meant from where the caller stands, as long as that is in the checkout.
            here = Path.cwd() if Path.cwd().is_relative_to(CHECKOUT) else CHECKOUT
            return run.call("pytest", *for_pytest, *(["--checklist"] if chosen.checklist else []), cwd=here)
        run.steps.append(report.Step("environment", time.monotonic() - began))
        rooms = [] if chosen.fast else run_all(run)
        if chosen.fast:
            run_fast(run)
        return close(run, rooms, listed=chosen.checklist)
    finally:
        shutil.rmtree(files)


if __name__ == "__main__":
    sys.exit(main())
