"""A plan from a real store and back to it: collected, planned, exported and submitted by the command, in processes of
their own, through the legacy key of a ZooKeeper."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest

from kedge.controller.codec import keys
from kedge.controller.model.values import TopicPartition
from tests.real.cluster import CALL_S, Cluster
from tests.real.remote import CHECKOUT
from tests.real.served import Served, serve

pytestmark = [
    pytest.mark.server,
    pytest.mark.full,
]

COMMAND: Final = (sys.executable, "-c", "from kedge.controller.cli.root import kedge; kedge()", "plan")
LAYOUT = [[1, 2], [2, 1], [1, 3], [3, 1], [2, 3], [3, 4]]


@pytest.fixture
def zookeeper() -> Iterator[Served]:
    with serve("zookeeper") as found:
        yield found


@contextmanager
def begun(*arguments: object) -> Iterator[subprocess.Popen[str]]:
    """The command, which does not outlive the block."""
    command, pipe = [*COMMAND, *map(str, arguments)], subprocess.PIPE
    with subprocess.Popen(command, cwd=CHECKOUT, stdout=pipe, stderr=pipe, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def run(cluster: Cluster, *arguments: object) -> tuple[int, str, str]:
    """Exit code, stdout and stderr; the cluster works meanwhile."""
    found: list[tuple[str, str]] = []
    with begun(*arguments) as process:
        cluster.while_working(lambda: found.append(process.communicate(timeout=60)), f"{arguments[0]} ends")
    return (process.returncode, *found[0])


def exported(cluster: Cluster, folder: Path, url: str, *more: object) -> dict[TopicPartition, tuple[int, ...]]:
    """A plan by which broker 1 is drained, in two waves or more; what becomes of its partitions."""
    tables, out = folder / "tables", folder / "plan"
    steps: tuple[tuple[object, ...], ...] = (
        ("collect", tables, "--cluster", "real", "--snapshot", "1", "--store", url),
        ("drain", tables, "--brokers", "1"),
        ("waves", tables, "--name", "drain", "--per-broker", "1", *more),
        ("export", tables, out, "--name", "drain"),
    )
    for step in steps:
        code, _, problem = run(cluster, *step, "--plain")
        assert (code, problem) == (0, "")
    entries = json.loads((out / "plan.json").read_bytes())["partitions"]
    return {TopicPartition(entry["topic"], entry["partition"]): tuple(entry["replicas"]) for entry in entries}


def test_a_plan_of_a_real_store_is_submitted_through_its_legacy_key(zookeeper: Served, tmp_path: Path) -> None:
    """Interrupted in a wave, gone on with by another process, rolled back by a third."""
    url = zookeeper.url(10)
    with Cluster(zookeeper, tmp_path, session_s=6) as cluster:
        before = dict(zip(cluster.create_topic("t", LAYOUT, records=5), map(tuple, LAYOUT), strict=True))
        targets = exported(cluster, tmp_path, url)
        cluster.note(targets)
        cluster.note(before)
        cluster.hold_back(targets)
        submit: tuple[Any, ...] = ("submit", tmp_path / "plan", "--store", url, "--poll", "0.2s", "--timeout", "50s")
        said: list[tuple[str, str]] = []
        with begun(*submit) as first:
            key_is_there = lambda: cluster.store.get(keys.REASSIGN_PARTITIONS, timeout_s=CALL_S) is not None  # noqa: E731
            cluster.until(key_is_there, "a wave is handed over")
            first.send_signal(signal.SIGINT)
            cluster.while_working(lambda: said.append(first.communicate(timeout=30)), "the command ends")
        assert first.returncode == 1
        assert "continues in the cluster; the same command continues" in said[0][1]
        cluster.let_go(targets)
        code, out, problem = run(cluster, *submit, "--json")
        assert (code, problem) == (0, "")
        *waves, end = [json.loads(line) for line in out.splitlines()]
        assert len(waves) >= 2
        assert (end["end"], end["throttles"]) == ("done", False)
        cluster.until_settled(targets)
        code, out, _ = run(cluster, *submit, "--rollback")
        assert code == 0, out
        cluster.until_settled({tp: before[tp] for tp in targets})
        cluster.until_converged()
        assert cluster.findings() == ()


def test_a_plan_with_throttles_is_refused_through_the_key_of_a_real_store(zookeeper: Served, tmp_path: Path) -> None:
    url = zookeeper.url(10)
    with Cluster(zookeeper, tmp_path, session_s=6) as cluster:
        cluster.create_topic("t", LAYOUT, records=5)
        exported(cluster, tmp_path, url, "--throttle", "1MB")
        code, out, problem = run(cluster, "submit", tmp_path / "plan", "--store", url)
        assert (code, out) == (2, "")
        assert (
            "the waves have throttles, which the legacy key cannot set; --no-throttle submits them without" in problem
        )
        assert cluster.store.get(keys.REASSIGN_PARTITIONS, timeout_s=CALL_S) is None
