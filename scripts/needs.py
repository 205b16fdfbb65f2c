"""What the tests need of the machine: servers, programs, places, and other Pythons. Where root may install packages,
what is missing is installed first.

Rules
* Without a store's server or Spark the run fails.
* A family of programs that tests need and that cannot be installed (FAMILIES) leaves out the tests that need it, with
  the reason in the table.
"""

from __future__ import annotations

import sys
from pathlib import Path

import environment
import pythons
from steps import Run

# Real servers that tests need: the command that says which one it would be, or in one line that there is none. Where
# root may install packages, it does, first.
SERVERS = {
    "zookeeper": ["servers", "--install"],
    "etcd": ["servers.etcd", "--which", "--install"],
    "spark": ["servers.spark", "--install"],
}
# Programs without which some tests are left out, by the family that `tests/left_out.py` knows.
FAMILIES = {
    "browser": ["tests.browser", "--install"],
    "kafka": ["tests.clients.machine", "java", "--install"],
    "node": ["tests.clients.machine", "node", "--install"],
    "go": ["tests.clients.machine", "go", "--install"],
    "lakes": ["tests.lake_jars", "--install"],
}
# Of an etcd that is killed under load, the version matters; see tests/servers.py.
SOUND_ETCD = ["servers.etcd", "--which", "--sound", "--install"]
# What stores in tests run in: the command, as above, and what is not run where that cannot be had.
PLACES = {
    "containers": (
        ["servers.containers", "--install"],
        "the bindings zookeeper-in-container and etcd-in-container, the image of kedge serve",
    ),
    "networks": (["servers.network", "--install"], "the tests that cut a node off from the others"),
}


def find_servers(run: Run) -> bool:
    """Whether every server that the tests need is to be had. The line that says so stands in the output."""
    failed = False
    for name, command in SERVERS.items():
        with run.step(f"server {name}") as step:
            step.failed = run.call(*command) != 0
            step.note = "or leave its tests out: scripts/test --no-servers" if step.failed else ""
            failed = failed or step.failed
    return not failed


def find_the_rest(run: Run) -> None:
    """What a run can do without, some of its tests left out."""
    find_sound_etcd(run)
    find_families(run)
    find_places(run)


def find_sound_etcd(run: Run) -> None:
    """Without one the tests are run all the same, and may fail once in a great while by no fault of ours."""
    with run.step("etcd to be killed") as step:
        if run.call(*SOUND_ETCD) != 0:
            step.note = "NOT SOUND: the etcd that tests kill may lose what it acknowledged"


def find_families(run: Run) -> None:
    """What cannot be had is no failure, but its tests are left out, and the table says why."""
    for name, command in FAMILIES.items():
        with run.step(f"programs {name}") as step:
            code, said = run.note(name, *command)
            if code != 0:
                run.left_out.append(name)
                step.note = f"NOT RUN: the tests that need {name}: {said}"


def find_places(run: Run) -> None:
    """What would be run in a place that cannot be had is not: no failure, but the table names it."""
    for name, (command, tests) in PLACES.items():
        with run.step(name) as step:
            code, step.note = run.note(name, *command)
            if code != 0:
                step.note = f"NOT RUN: {tests}: {step.note}"


def find_pythons(run: Run) -> dict[str, Path]:
    """The environment of each other Python, by the name of its part: of each minor version but the one that runs here,
    on which all tests run."""
    ready: dict[str, Path] = {}
    here = "{}.{}".format(*sys.version_info)
    others = {version: program for version, program in pythons.found().items() if version.rpartition(".")[0] != here}
    for version, program in others.items():
        with run.step(f"environment {version}") as step:
            try:
                ready[f"python {version}"] = environment.prepare_fast(program, version)
            except environment.InstallFailed as failure:
                print(failure)
                step.note = f"NOT RUN: the fast tests on Python {version}: {str(failure).strip().splitlines()[-1]}"
    return ready
