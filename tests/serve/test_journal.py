"""`kedge serve --journal FOLDER`: what its controller decided can be audited (KIP-455)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.kit.commands import run
from tests.serve.processes import DEADLINE_S, begun, running


def moved(bootstrap: str, folder: Path, replicas: list[int]) -> None:
    """Partition 0 of `orders` is on these brokers."""
    plan = folder / "move.json"
    row = {"topic": "orders", "partition": 0, "replicas": replicas}
    plan.write_text(json.dumps({"version": 1, "partitions": [row]}))
    where = ("--bootstrap-server", bootstrap, "--reassignment-json-file", plan)
    for way in (("--execute",), ("--progress", "--watch")):
        done = run("kafka", "reassign-partitions", *where, *way)
        assert done.exit_code == 0, done.output


@pytest.mark.full
@pytest.mark.checklist(269)
def test_the_journal_of_two_runs_on_one_store_is_audited_without_a_finding(tmp_path: Path) -> None:
    folder = tmp_path / "journal"
    where = ("--store", f"memory:{tmp_path / 'cluster.kedge'}", "--journal", str(folder))
    for replicas in ([1, 2, 3], [3, 1]):  # neither can be what was there before
        with running(*where, "--topic", "orders:2:2") as found:
            moved(found.at["bootstrap"], tmp_path, replicas)
    audited = run("journal", "audit", folder)
    assert (audited.exit_code, "of 2 terms in 2 files: no violation" in audited.stderr) == (0, True), audited.output
    shown = run("journal", "show", folder)
    assert shown.output.count("completed {") == 2, shown.output


@pytest.mark.slow
def test_a_folder_that_cannot_hold_a_journal_is_refused(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "kedge-1-0.jsonl").touch()
    (tmp_path / "file").touch()
    for folder, why in (("old", "has the journal of another cluster"), ("file", "File exists")):
        process = begun("--listen", "127.0.0.1:0", "--no-status", "--journal", str(tmp_path / folder))
        printed, said = process.communicate(timeout=DEADLINE_S)
        assert (process.returncode, printed, said.startswith("kedge: --journal: ")) == (2, "", True)
        assert why in said
