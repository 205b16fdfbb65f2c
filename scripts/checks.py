"""Run the checks: ruff, mypy, and pytest in parallel workers. docs/how-it-is-tested.md says what each command runs.

Runs under a Python in which nothing is installed; the tools run in the environment that environment.py makes.

Rules
* Every check runs, whatever failed before it; the exit code is 0 only if all of them passed.
* What the tests need of the machine (NEEDS) is looked for while the tools run, and installed where root may. Without a
  server that is required the tests run without servers, and the run fails. What else is missing leaves out the tests
  that need it, and the closing table gives the reason.
* Each run of pytest writes a report in JUnit's format; the closing tables are made of these (summary.py).
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import NamedTuple, NoReturn

import environment
import pythons
import summary

CHECKOUT = environment.CHECKOUT
BUILD = CHECKOUT / "build"
NOTHING: Mapping[str, str] = {}
FEW = {"KEDGE_TEST_EXAMPLES": "few"}
"""Of each property few examples; see tests/conftest.py."""
TOOLS = (["ruff", "check", "."], ["ruff", "format", "--check", "."], ["mypy", "."])
WORKERS = min(os.cpu_count() or 2, 4)
SPREAD = ("--dist=loadscope", "--no-loadscope-reorder", "-q")
FAST = "not slow and not full and not server"
NEWEST = ("tests", "--ignore=tests/docs", "--ignore=tests/house", "-m", FAST)
"""What runs on other Pythons. What reads pages and sources of the project is the same on all of them."""
# The folders whose tests are traced with --all, because a package that they test has a floor of coverage. Tracing the
# others would double their time.
TRACED = (
    *("check", "codec", "conformance", "embedding", "journal", "migration", "model", "pipeline", "rig", "rules"),
    *("runtime", "state", "stores"),
)


class Need(NamedTuple):
    """`command`: a module that prints what there is, with exit code 1 and the reason where it is missing. `family`: the
    name by which `tests/left_out.py` skips the tests that need it; none: the run fails without it."""

    name: str
    command: tuple[str, ...]
    family: str = ""
    all_only: bool = False


NEEDS = (
    Need("zookeeper", ("servers", "--install")),
    Need("etcd", ("servers.etcd", "--install")),
    Need("spark", ("servers.spark", "--install")),
    Need("kafka's clients", ("tests.clients.machine", "java", "--install"), "kafka"),
    Need("etcd to be killed", ("servers.etcd", "--sound", "--install"), "sound etcd", all_only=True),
    Need("browser", ("tests.browser", "--install"), "browser", all_only=True),
    Need("node", ("tests.clients.machine", "node", "--install"), "node", all_only=True),
    Need("go", ("tests.clients.machine", "go", "--install"), "go", all_only=True),
    Need("lakes", ("tests.lake_jars", "--install"), "lakes", all_only=True),
    Need("containers", ("servers.containers",), "containers", all_only=True),
    Need("networks", ("servers.network", "--install"), "networks", all_only=True),
)
ALL_ONLY = {"KEDGE_ALL_ONLY": ",".join(need.family for need in NEEDS if need.all_only)}
"""Families that no test of the other commands may ask for; see tests/left_out.py."""
LEFT_OUT = {
    "--fast": "tests that take more than a tenth of a second or need a server; most examples of each property",
    "": "--all: kills and outages of servers, ensembles, networks, containers, browsers, Kafka's brokers, most stock "
    "clients, Spark clusters and lakes, long simulations, other Pythons, coverage",
    "--all": "tests/benchmarks, and the attacks of docs/how-it-is-tested.md that take hours",
}


class Run:
    """One run of the script: what each step took and whether it passed."""

    def __init__(self, python: Path) -> None:
        self.python = python
        self.steps: list[summary.Step] = []
        self.reports: list[Path] = []
        self.left_out: dict[str, str] = {}
        self._children: set[subprocess.Popen[str]] = set()
        signal.signal(signal.SIGTERM, self._end)

    @contextmanager
    def step(self, name: str) -> Iterator[summary.Step]:
        step, began_s = summary.Step(name), time.monotonic()
        yield step
        step.seconds = time.monotonic() - began_s
        self.steps.append(step)

    def call(
        self, *module: str, shown: bool = False, python: Path | None = None, variables: Mapping[str, str] = NOTHING
    ) -> tuple[int, str]:
        """Run a module of the environment. Returns its exit code and output; `shown`: it is printed at once instead."""
        python = python or self.python
        path = f"{python.parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
        command, pipe = [str(python), "-m", *module], None if shown else subprocess.PIPE
        # Without compiled files every process that a test starts would compile Kedge once more.
        env = {**os.environ, "PATH": path, "PYTHONDONTWRITEBYTECODE": "", **variables}
        with subprocess.Popen(
            command, cwd=CHECKOUT, env=env, stdin=subprocess.DEVNULL, stdout=pipe, stderr=subprocess.STDOUT, text=True
        ) as child:
            self._children.add(child)
            try:
                output = child.communicate()[0] or ""
            finally:
                self._children.discard(child)
        return child.returncode, output

    def pytest(
        self,
        name: str,
        *arguments: str,
        python: Path | None = None,
        traced: bool = False,
        workers: int = WORKERS,
        variables: Mapping[str, str] = NOTHING,
    ) -> None:
        """A step that runs tests in parallel workers. `traced`: coverage is measured."""
        report = BUILD / f"{name.replace(' ', '-')}.xml"
        report.unlink(missing_ok=True)
        launcher = ("coverage", "run", "-m", "pytest") if traced else ("pytest",)
        print(f"\n--- {name}", flush=True)
        with self.step(name) as step:
            command = (*launcher, *arguments, f"-n{workers}", *SPREAD, f"--junitxml={report}")
            variables = {"KEDGE_LEFT_OUT": ",".join(self.left_out), **variables}
            code, _ = self.call(*command, shown=True, python=python, variables=variables)
            step.failed = code != 0 or not report.exists()
        if report.exists():
            self.reports.append(report)

    def _end(self, number: int, _: FrameType | None) -> NoReturn:
        """Interrupt what runs, so that pytest takes its fixtures down, and end."""
        for child in tuple(self._children):
            child.send_signal(signal.SIGINT)
        sys.exit(128 + number)


def check_tools(run: Run) -> None:
    for command in TOOLS:
        with run.step(" ".join(command[:2]).removesuffix(" .")) as step:
            code, output = run.call(*command)
            step.failed = code != 0
        print(f"--- {step.name}\n{output}", end="", flush=True)


def find(run: Run, need: Need) -> None:
    with run.step(need.name) as step:
        code, output = run.call(*need.command)
        step.note = " ".join(output.split())[-200:]
        step.failed = code != 0 and not need.family
    if code and need.family:
        run.left_out[need.family] = step.note
        step.note = f"NOT RUN: the tests that need it: {step.note}"
    elif code:
        run.left_out["servers"] = f"{need.name} is missing"
    print(f"--- {step.name}: {step.note}", flush=True)


def prepare(run: Run, *, whole: bool, servers: bool) -> None:
    """The tools have run, and what the tests need is there, as far as it can be had. Needs are looked for one after the
    other, because apt-get runs only once at a time."""
    with ThreadPoolExecutor(1) as beside:
        tools = beside.submit(check_tools, run)
        for need in NEEDS:
            if servers and (whole or not need.all_only):
                find(run, need)
    tools.result()


def run_all(run: Run, *options: str) -> None:
    """With more workers than `scripts/test` has: most of these tests wait for servers half of their time."""
    folders = sorted(path.name for path in (CHECKOUT / "tests").iterdir() if next(path.rglob("test_*.py"), None))
    traced = [f"tests/{name}" for name in folders if name in TRACED]
    data = {"COVERAGE_FILE": str(BUILD / "coverage")}
    for old in BUILD.glob("coverage*"):
        old.unlink()
    run.pytest("traced tests", *traced, *options, workers=WORKERS + 1, traced=True, variables=data)
    with run.step("coverage") as step:
        run.call("coverage", "combine", variables=data)
        code, output = run.call("coverage", "json", "-o", str(BUILD / "coverage.json"), variables=data)
        table, step.failed = summary.rooms(BUILD / "coverage.json") if not code else (output, True)
        print(table)
    others = [f"tests/{name}" for name in folders if name not in (*TRACED, "benchmarks")]
    run.pytest("other tests", *others, *options, workers=WORKERS + 2)
    for version, program in pythons.ends().items():
        name = f"fast tests on Python {version}"
        try:
            python = environment.prepare_fast(program, version)
        except environment.InstallFailed as failure:
            run.left_out[name] = str(failure).strip().splitlines()[-1]
        else:
            run.pytest(name, *NEWEST, python=python, variables=FEW)


def arguments() -> tuple[argparse.Namespace, list[str]]:
    parser = argparse.ArgumentParser(
        prog="scripts/test",
        description="Run the checks: ruff, mypy, and the tests of 10 to 15 minutes.",
        allow_abbrev=False,  # what is not spelled out belongs to pytest
        epilog="With paths or options of pytest, run only pytest with them: scripts/test tests/stores -k session",
    )
    parser.add_argument("--fast", action="store_true", help="Only the fast tests: a good minute.")
    parser.add_argument("--all", action="store_true", help="All tests, two Pythons, coverage: 35 to 65 minutes.")
    parser.add_argument("--no-servers", action="store_true", help="Leave out the tests that need a real server.")
    return parser.parse_known_args()


def main() -> int:
    chosen, for_pytest = arguments()
    began_s = time.monotonic()
    BUILD.mkdir(exist_ok=True)
    try:
        python = environment.prepare()
    except environment.InstallFailed as failure:
        print(failure, file=sys.stderr)
        return 1
    run = Run(python)
    options = ["--no-servers"] * chosen.no_servers
    if for_pytest:
        # Paths are meant from where the caller stands, as long as that is in the checkout.
        os.chdir(Path.cwd() if Path.cwd().is_relative_to(CHECKOUT) else CHECKOUT)
        os.execv(python, [str(python), "-m", "pytest", *for_pytest, *options])  # noqa: S606 - the Python is ours
    run.steps.append(summary.Step("environment", time.monotonic() - began_s))
    prepare(run, whole=chosen.all, servers=not chosen.fast and not chosen.no_servers)
    options = ["--no-servers"] * (chosen.no_servers or "servers" in run.left_out)
    if chosen.all:
        run_all(run, *options)
    elif chosen.fast:
        run.pytest("tests", "tests", "-m", FAST, *options, variables=FEW)
    else:
        run.pytest("tests", "tests", "-m", "not full", *options, variables=ALL_ONLY)
    command = "--all" if chosen.all else "--fast" if chosen.fast else ""
    left_out = {**run.left_out, "by this command": LEFT_OUT[command]}
    print(summary.closing(run.steps, run.reports, left_out, time.monotonic() - began_s))
    return 1 if any(step.failed for step in run.steps) else 0


if __name__ == "__main__":
    sys.exit(main())
