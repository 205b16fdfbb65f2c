"""--quiet: results, warnings and errors are printed; progress and confirmations are not."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import Result

from kedge.stores import MemoryServer
from kedge.stores.tree import TreeEntry
from tests.check.trees import entries, good
from tests.kit.commands import run
from tests.kit.waiting import until
from tests.serve.processes import begun
from tests.wire.living import Living

DEADLINE_S = 30.0


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """The file of a memory store that holds a good tree."""
    server = MemoryServer()
    server.plant(TreeEntry(e.key, e.value, e.generation) for e in entries(good()) if e.owner is None)
    server.save(tmp_path / "tree.json")
    return tmp_path / "tree.json"


@pytest.mark.parametrize("quiet", ["-q", "--quiet"])
def test_dump_and_load_print_nothing(tree: Path, tmp_path: Path, quiet: str) -> None:
    file, copy = tmp_path / "dump.json", tmp_path / "copy.json"
    for line in (("dump", f"memory:{tree}", file), ("load", file, f"memory:{copy}")):
        done = run("store", *line, quiet)
        assert (done.exit_code, done.output) == (0, "")
    assert run("store", "diff", f"memory:{copy}", file).exit_code == 0


def test_json_is_printed_all_the_same(tree: Path, tmp_path: Path) -> None:
    done = run("store", "dump", f"memory:{tree}", tmp_path / "dump.json", "--quiet", "--json")
    assert json.loads(done.stdout)["consistent"] is True


def test_migration_prints_nothing(tree: Path, tmp_path: Path) -> None:
    urls = f"memory:{tree}", f"memory:{tmp_path / 'new.json'}"
    done = run("store", "migrate", *urls, "--quiet")
    assert (done.exit_code, done.output) == (0, "")


def test_errors_are_printed(tmp_path: Path) -> None:
    done = run("store", "dump", f"memory:{tmp_path}/none.json", "-", "--quiet")
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith("kedge: memory:")


@pytest.fixture(scope="module")
def served() -> Iterator[str]:
    with Living() as living:
        living.topic("orders", [[1, 2]])
        yield living.bootstrap


@pytest.fixture
def tool(served: str) -> Callable[..., Result]:
    def invoke(command: str, *arguments: object) -> Result:
        return run("kafka", command, "--bootstrap-server", served, "--quiet", *arguments)

    return invoke


@pytest.mark.slow
def test_changes_are_not_confirmed(tool: Callable[..., Result]) -> None:
    for line in (
        ("topics", "--create", "--topic", "quiet", "--partitions", 1, "--replication-factor", 1),
        ("configs", "--alter", "--topic", "quiet", "--add-config", "retention.ms=1000"),
        ("reassign-partitions", "--cancel-all"),
    ):
        done = tool(*line)
        assert (done.exit_code, done.output) == (0, ""), line


@pytest.mark.slow
def test_results_of_tools_are_printed(tool: Callable[..., Result]) -> None:
    assert "orders\n" in tool("topics", "--list").stdout
    assert tool("configs", "--describe", "--topic", "orders").stdout.startswith("Dynamic configs for topic orders")


@pytest.mark.slow
def test_execute_prints_the_rollback_and_warnings_alone(tool: Callable[..., Result], tmp_path: Path) -> None:
    plan = tmp_path / "plan.json"
    plan.write_text(json.dumps({"partitions": [{"topic": "orders", "partition": 0, "replicas": [2, 3]}]}))
    done = tool("reassign-partitions", "--execute", "--reassignment-json-file", plan, "--throttle", 1000)
    assert (done.exit_code, done.stderr.count("Warning: a throttle below 1024 B/s")) == (0, 1)
    assert done.stdout.startswith("Current partition replica assignment\n")
    assert done.stdout.endswith("option during rollback\n")
    assert tool("reassign-partitions", "--cancel", "--reassignment-json-file", plan).output == ""


@pytest.mark.slow
def test_serve_prints_nothing_until_its_end(tmp_path: Path) -> None:
    file = tmp_path / "store.json"
    process = begun("--listen", "127.0.0.1:0", "--no-status", "--store", f"memory:{file}", "--quiet")
    try:
        until(file.exists)
        process.send_signal(signal.SIGTERM)
        said = process.communicate(timeout=DEADLINE_S)
        assert (process.returncode, said) == (0, ("", ""))
    finally:
        process.kill()
        process.wait(DEADLINE_S)
