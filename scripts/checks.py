"""Run the checks of the house and say what came out.

Runs under a Python in which nothing is installed; the tools run in the environment that environment.py makes.

Rules
* Every check runs, whatever failed before it; the exit code is 0 only if all of them passed.
* A part of the tests is a folder of tests/ that holds a test file, so a new folder is a new part without a change here.
  Each runs in a process of its own: a part that hangs, leaks or kills its process cannot hide in another.
* Two parts run at a time, because they wait for half of their seconds; the next begins when one of them ends, the long
  ones first. Output of a part is printed when it is over, in one piece.
* Each part leaves a report (tests/checklist.py writes it); a part without one has failed, whatever its exit code.
* Parts that are tests of the rooms with a floor of coverage are traced, and hold each room to it, by lines and by
  branches, each on its own. The others are not: tracing would treble their time, and see little of their processes.
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
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import environment
import report

CHECKOUT = environment.CHECKOUT
LANES = 2
# What fails at once comes first, then what takes minutes, so that no lane is left with a long part at the end.
ORDER = (
    "house",
    "real",
    "stores",
    "simulation",
    "conformance",
    "cli",
    "clients",
    "kafka",
    "wire",
    "serve",
    "e2e",
    "pipeline_spark",
    "pipeline_journal",
    "pipeline",
)
TRACED = [
    "check",
    "codec",
    "conformance",
    "embedding",
    "journal",
    "migration",
    "model",
    "pipeline",
    "rig",
    "rules",
    "runtime",
    "state",
    "stores",
]

TOOLS = {
    "ruff check": ["ruff", "check", "."],
    "ruff format": ["ruff", "format", "--check", "."],
    "mypy": ["mypy", "."],
}

# Real servers that tests need: the command that says which one it would be, or in one line that there is none. Where
# root may install packages, it does, first.
SERVERS = {
    "zookeeper": ["stores.servers", "--install"],
    "etcd": ["stores.servers.etcd", "--which", "--install"],
    "spark": ["pipeline.spark", "--install"],
    "browser": ["tests.browser", "--install"],
    "kafka": ["tests.kafka_jars", "--install"],
    "clients": ["tests.clients.machine", "--install"],
}
# Of an etcd that is killed under load, the version matters; see tests/servers.py.
SOUND_ETCD = ["stores.servers.etcd", "--which", "--sound", "--install"]
# What runs them in containers, as above.
CONTAINERS = ["stores.servers.containers", "--install"]


@dataclass
class Run:
    """One run of the script: where its files go, and what came out so far."""

    python: Path
    files: Path
    began: float = field(default_factory=time.monotonic)
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
    """The folders of tests/ that hold a test file at any depth, in the order in which they begin."""
    folders = {path.relative_to(CHECKOUT / "tests").parts[0] for path in (CHECKOUT / "tests").glob("*/**/test_*.py")}
    rank = {name: place for place, name in enumerate(ORDER)}
    return [f"tests/{name}" for name in sorted(folders, key=lambda name: (rank.get(name, len(ORDER)), name))]


def run_tools(run: Run) -> None:
    for name, command in TOOLS.items():
        with run.step(name) as step:
            step.failed = run.call(*command) != 0


def find_servers(run: Run) -> bool:
    """Whether every server that the tests need is to be had. The line that says so stands in the output."""
    failed = False
    for name, command in SERVERS.items():
        with run.step(f"server {name}") as step:
            step.failed = run.call(*command) != 0
            step.note = "or leave its tests out: scripts/test --no-servers" if step.failed else ""
            failed = failed or step.failed
    return not failed


def find_sound_etcd(run: Run) -> None:
    """Without one the tests are run all the same, and may fail once in a great while by no fault of ours."""
    with run.step("etcd to be killed") as step:
        if run.call(*SOUND_ETCD) != 0:
            step.note = "NOT SOUND: the etcd that tests kill may lose what it acknowledged"


def find_containers(run: Run) -> None:
    """Where no engine is to be had, what would be run in containers is not: no failure, but the table names it."""
    with run.step("containers") as step:
        said = run.files / "containers.txt"
        with said.open("w") as output:
            missing = run.call(*CONTAINERS, output=output) != 0
        step.note = " ".join(said.read_text().split())
        print(step.note)
        if missing:
            step.note = f"NOT RUN: the bindings zookeeper-in-container and etcd-in-container: {step.note}"


def run_part(
    run: Run, name: str, *arguments: str, traced: bool, output: IO[str] | None = None
) -> tuple[report.Step, int]:
    """The step of the part, with its seconds, and the exit code of pytest."""
    launcher = ["coverage", "run", "--parallel-mode", "-m", "pytest"] if traced else ["pytest"]
    step, began = report.Step(name), time.monotonic()
    code = run.call(*launcher, name, *arguments, variables=_variables(run, name), output=output)
    step.seconds = time.monotonic() - began
    return step, code


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


def run_parts(run: Run, names: list[str], *arguments: str) -> None:
    """All of them, in LANES lanes. What a part printed comes when it is over."""

    def work(name: str) -> tuple[report.Step, int]:
        with _output_file(run, name).open("w") as file:
            return run_part(run, name, *arguments, traced=Path(name).name in TRACED, output=file)

    with ThreadPoolExecutor(LANES) as lanes:
        for future in as_completed([lanes.submit(work, name) for name in names]):
            step, code = future.result()
            print(f"\n--- {step.name}: {step.seconds:.0f} s", flush=True)
            take_report(run, step.name, step, code)
            print(_output_file(run, step.name).read_text(), flush=True)
            run.steps.append(step)


def _output_file(run: Run, name: str) -> Path:
    return run.files / f"{name.replace('/', '-')}.txt"


def run_coverage(run: Run, *, servers: bool) -> list[report.Room]:
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
            # Without servers their backends are not run, so that room cannot be held to its floor.
            step.failed = step.failed or any(room.failed for room in rooms if servers or room.name != "stores")
    return rooms


def run_all(run: Run, *, servers: bool) -> list[report.Room]:
    run_tools(run)
    # Without one, that is what failed; the tests of the rest have still something to say.
    without = () if servers and find_servers(run) else ("--no-servers",)
    if not without:
        find_sound_etcd(run)
        find_containers(run)
    names = parts()
    with run.step("parts") as step:
        step.failed = not names
        step.note = ", ".join(names) if names else "no folder of tests/ holds a test file"
        print(step.note)
    run_parts(run, names, *without)
    return run_coverage(run, servers=not without)


def run_fast(run: Run) -> None:
    run_tools(run)
    # One process for all parts: starting pytest costs more than most of the quick tests.
    print("\n--- tests", flush=True)
    step, code = run_part(run, "tests", "-m", "not slow", traced=False)
    take_report(run, step.name, step, code)
    run.steps.append(step)


def close(run: Run, rooms: list[report.Room], *, listed: bool) -> int:
    """Print the tables and the closing lines. Returns the exit code."""
    print()
    print("\n".join(report.step_table(run.steps, time.monotonic() - run.began)))
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
    parser.add_argument("--no-servers", action="store_true", help="leave out the tests that need a real server")
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
    run = Run(python, files, began)
    try:
        if for_pytest:
            # Paths are meant from where the caller stands, as long as that is in the checkout.
            here = Path.cwd() if Path.cwd().is_relative_to(CHECKOUT) else CHECKOUT
            flags = [flag for flag in ("--checklist", "--no-servers") if getattr(chosen, flag[2:].replace("-", "_"))]
            return run.call("pytest", *for_pytest, *flags, cwd=here)
        run.steps.append(report.Step("environment", time.monotonic() - began))
        rooms = [] if chosen.fast else run_all(run, servers=not chosen.no_servers)
        if chosen.fast:
            run_fast(run)
        return close(run, rooms, listed=chosen.checklist)
    finally:
        shutil.rmtree(files)


if __name__ == "__main__":
    sys.exit(main())
