"""Run the checks of the house and say what came out.

Runs under a Python in which nothing is installed; the tools run in the environment that environment.py makes.

Rules
* Every check runs, whatever failed before it; the exit code is 0 only if all of them passed.
* A part of the tests is a folder of tests/ that holds a test file, so a new folder is a new part without a change here.
  Each runs in a process of its own: a part that hangs, leaks or kills its process cannot hide in another.
* Two parts run at a time, because they wait for half of their seconds; the next begins when one of them ends, the long
  ones first. Output of a part is printed when it is over, in one piece.
* Each part leaves a report (tests/checklist.py writes it); a part without one has failed, whatever its exit code.
* The fast tests run on CPythons of other minor versions as well, the oldest of each that is here, as a part each
  (`python 3.12.1`), with fewer examples of each property. What reads pages and sources of the project (ON_ONE) is the
  same on all of them.
* What the machine must have for the tests, and what becomes of a run without it: needs.py.
* SIGTERM and Ctrl-C end every process of the run.
* Parts that are tests of the rooms with a floor of coverage are traced, and hold each room to it, by lines and by
  branches, each on its own. The others are not: tracing would treble their time, and see little of their processes.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import IO

import ending
import environment
import needs
import report
from steps import Run

CHECKOUT = environment.CHECKOUT
LANES = 2
# What fails at once comes first, then what takes minutes, so that no lane is left with a long part at the end.
ORDER = (
    "house",
    "pipeline_spark",
    "real",
    "cli",
    "simulation",
    "stores",
    "conformance",
    "serve",
    "kafka",
    "kafka_brokers",
    "wire",
    "pipeline_journal",
    "pipeline",
    "e2e",
    "clients",
)
ON_ONE = ("docs", "house")
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

FAST = ("tests", *(f"--ignore=tests/{part}" for part in ON_ONE), "-m", "not slow and not server", "-pno:cacheprovider")
TOOLS = {
    "ruff check": ["ruff", "check", "."],
    "ruff format": ["ruff", "format", "--check", "."],
    "mypy": ["mypy", "."],
}


def parts() -> list[str]:
    """The folders of tests/ that hold a test file at any depth, in the order in which they begin."""
    folders = {path.relative_to(CHECKOUT / "tests").parts[0] for path in (CHECKOUT / "tests").glob("*/**/test_*.py")}
    rank = {name: place for place, name in enumerate(ORDER)}
    return [f"tests/{name}" for name in sorted(folders, key=lambda name: (rank.get(name, len(ORDER)), name))]


def run_tools(run: Run) -> None:
    for name, command in TOOLS.items():
        with run.step(name) as step:
            step.failed = run.call(*command) != 0


def run_part(
    run: Run,
    name: str,
    *arguments: str,
    traced: bool = False,
    python: Path | None = None,
    output: IO[str] | None = None,
) -> tuple[report.Step, int]:
    """The step of the part, with its seconds, and the exit code of pytest. `python`: all fast tests, on that one."""
    launcher = ["coverage", "run", "--parallel-mode", "-m", "pytest"] if traced else ["pytest"]
    chosen = (name,) if python is None else FAST
    step, began = report.Step(name), time.monotonic()
    variables = _variables(run, name) | ({} if python is None else {"KEDGE_TEST_EXAMPLES": "few"})
    code = run.call(*launcher, *chosen, *arguments, python=python, variables=variables, output=output)
    step.seconds = time.monotonic() - began
    return step, code


def _file(run: Run, name: str, suffix: str) -> Path:
    return run.files / f"{name.replace('/', '-').replace(' ', '-')}.{suffix}"


def _variables(run: Run, name: str) -> dict[str, str]:
    return {
        "COVERAGE_FILE": str(run.files / "coverage"),
        "KEDGE_TEST_REPORT": str(_file(run, name, "json")),
        "KEDGE_LEFT_OUT": " ".join(run.left_out),
    }


def take_report(run: Run, name: str, step: report.Step, code: int) -> None:
    """What the part says of itself goes into its step."""
    part = report.read_part(_file(run, name, "json"))
    step.failed = code != 0 or part is None
    if part is None:
        step.note = f"no report: pytest ended with exit code {code}"
    else:
        step.note = report.counts(part.outcomes)
        if part.reruns_unknown:
            step.note += f"; run again and not in tests/reruns.toml: {', '.join(part.reruns_unknown)}"
        run.parts.append(part)


def run_parts(run: Run, names: list[str], others: Mapping[str, Path], *arguments: str) -> None:
    """All of them, in LANES lanes. What a part printed comes when it is over. `others`: Pythons of the parts of that
    name."""

    def work(name: str) -> tuple[report.Step, int]:
        with _file(run, name, "txt").open("w") as file:
            traced = Path(name).name in TRACED
            return run_part(run, name, *arguments, traced=traced, python=others.get(name), output=file)

    long, short = names[: len(ORDER)], names[len(ORDER) :]
    with ThreadPoolExecutor(LANES) as lanes:
        for future in as_completed([lanes.submit(work, name) for name in [*long, *others, *short]]):
            step, code = future.result()
            print(f"\n--- {step.name}: {step.seconds:.0f} s", flush=True)
            take_report(run, step.name, step, code)
            print(_file(run, step.name, "txt").read_text(), flush=True)
            run.steps.append(step)


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
    with ThreadPoolExecutor(1) as beside:  # pip waits for the network half of its time
        environments = beside.submit(needs.find_pythons, run)
        run_tools(run)
        # Without one, that is what failed; the tests of the rest have still something to say.
        without = () if servers and needs.find_servers(run) else ("--no-servers",)
        if not without:
            needs.find_the_rest(run)
        others = environments.result()
    names = parts()
    with run.step("parts") as step:
        step.failed = not names
        step.note = ", ".join(names) if names else "no folder of tests/ holds a test file"
        print(step.note)
    run_parts(run, names, others, *without)
    return run_coverage(run, servers=not without)


def run_fast(run: Run) -> None:
    run_tools(run)
    # One process for all parts: starting pytest costs more than most of the quick tests.
    print("\n--- tests", flush=True)
    step, code = run_part(run, "tests", "-m", "not slow")
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
    (CHECKOUT / "build").mkdir(exist_ok=True)
    files = Path(tempfile.mkdtemp(prefix="run-", dir=CHECKOUT / "build"))
    signals = ending.Ending(lambda: shutil.rmtree(files, ignore_errors=True))
    try:
        return run_chosen(chosen, for_pytest, files, signals, began)
    finally:
        shutil.rmtree(files)


def run_chosen(
    chosen: argparse.Namespace, for_pytest: list[str], files: Path, signals: ending.Ending, began: float
) -> int:
    """What the command line asks for, in the environment, which is made first. Returns the exit code."""
    try:
        python = environment.prepare()
    except environment.InstallFailed as failure:
        print(failure, file=sys.stderr)
        return 1
    run = Run(python, files, began, signals)
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


if __name__ == "__main__":
    sys.exit(main())
