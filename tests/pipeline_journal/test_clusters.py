"""Journals of several clusters: whose a file is, and audits of all of them in one run."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

from kedge.controller.cli.printing import utc
from kedge.controller.cli.root import kedge
from kedge.pipeline.audit import audit
from kedge.pipeline.journal.arrow import batch_of
from kedge.pipeline.journal.files import NoJournal, cluster_of, journal_files, journals, read_part, whole_part
from kedge.pipeline.tables.arrow import from_rows
from kedge.pipeline.tables.declared import PARTITION, REPLICA_LOG
from kedge.pipeline.tables.files import Place
from tests.pipeline_journal.journals import find, leader_outside_isr, write, written


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    """East is clean, west is not; their files have the same names."""
    write(tmp_path / "cluster=east", written())
    rows = written()
    leader_outside_isr(rows)
    write(tmp_path / "cluster=west", rows)
    return tmp_path


def run(*arguments: object, verb: str = "audit") -> Result:
    return CliRunner().invoke(kedge, ["journal", verb, *map(str, arguments), "--quiet"])


@pytest.mark.parametrize(
    "file, cluster",
    [
        ("/j/cluster=east/kedge-1-0.jsonl", "east"),
        ("/j/cluster=a/cluster=b/2026/kedge-1-0.jsonl", "b"),
        ("cluster=east/any.jsonl", "east"),
        ("/j/cluster=/prod-1-0.jsonl", "prod"),
        ("/j/any.jsonl", "kedge"),
    ],
)
def test_folder_then_name_says_the_cluster(file: str, cluster: str) -> None:
    assert cluster_of(file) == cluster


def test_journals_are_found_by_cluster_in_order(fleet: Path) -> None:
    files = {name: journal_files([fleet / f"cluster={name}"]) for name in ("east", "west")}
    assert journals([fleet]) == files
    assert journals([fleet / "cluster=west"]) == {"west": files["west"]}
    with pytest.raises(NoJournal, match="got those of east, west"):
        journal_files([fleet])


def test_unnamed_file_belongs_to_the_only_named_cluster(tmp_path: Path) -> None:
    (named, *_) = write(tmp_path / "cluster=east", written())
    other = tmp_path / "saved.jsonl"
    other.write_bytes(named.read_bytes())
    assert list(journals([other])) == ["kedge"]
    assert journals([other, named]) == {"east": [named, other]}


def test_rows_of_the_source_name_their_cluster(fleet: Path) -> None:
    files = [file for some in journals([fleet]).values() for file in some]
    batch = batch_of([event for file in files for event in read_part(whole_part(file))])
    assert set(batch.column("cluster").to_pylist()) == {"east", "west"}


@pytest.mark.checklist(244)
def test_one_run_audits_every_cluster(fleet: Path) -> None:
    """Each line names its cluster; the exit code is that of the worst."""
    done = run(fleet, "--json", "--out", fleet / "tables")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    west = audit(journals([fleet])["west"])
    assert done.exit_code == 1
    assert [line["cluster"] for line in lines if "summary" in line] == ["east", "west"]
    assert [line["violation"] for line in lines if "violation" in line] == [v._asdict() for v in west.violations]
    assert "kedge: east: " in done.stderr
    assert "no violation" in done.stderr
    table = pq.read_table(fleet / "tables" / "audit_violation")
    assert table.column("cluster").to_pylist() == ["west"] * len(west.violations)
    assert "cluster" in run(fleet).stdout.splitlines()[0]


def test_cluster_option_audits_only_that_cluster(fleet: Path) -> None:
    """What is printed of one cluster does not name it."""
    done = run(fleet, "--cluster", "east")
    assert (done.exit_code, done.stdout) == (0, "")
    assert done.stderr.startswith(f"kedge: {len(written())} lines of 2 terms")
    unknown = run(fleet, "--cluster", "north")
    assert (unknown.exit_code, unknown.stderr) == (
        2,
        "kedge: --cluster: there is no journal of cluster north; there are journals of east, west\n",
    )


def test_a_page_of_several_clusters_is_refused(fleet: Path) -> None:
    done = run(fleet, "--report", fleet / "page.html")
    assert done.exit_code == 2
    assert "choose one with --cluster: east, west" in done.stderr
    assert run(fleet, "--report", fleet / "page.html", "--cluster", "west").exit_code == 1
    assert (fleet / "page.html").is_file()


def test_one_run_shows_the_progress_of_every_cluster(fleet: Path) -> None:
    """Each line and row names its cluster; what is said of one is what a run of it alone says."""
    done = run(fleet, "--json", "--out", fleet / "tables", verb="progress")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    alone = run(fleet, "--json", "--cluster", "west", verb="progress").stdout.splitlines()
    assert done.exit_code == 0
    assert [line["cluster"] for line in lines if "summary" in line] == ["east", "west"]
    assert [line for line in lines if line.pop("cluster") == "west"] == [json.loads(line) for line in alone]
    assert [line[:12] for line in done.stderr.splitlines()] == ["kedge: east:", "kedge: west:"]
    for table in ("progress", "broker_reassignment"):
        assert set(pq.read_table(fleet / "tables" / table).column("cluster").to_pylist()) == {"east", "west"}


def test_the_worst_cluster_is_the_exit_code_of_progress(fleet: Path) -> None:
    """North ends while moves run, and is stuck an hour later; the others are done."""
    rows = written()
    last = rows[find(rows, "TargetSet")]
    write(fleet / "cluster=north", [row for row in rows if row["seq"] <= last["seq"]])
    later = ("--as-of", utc(rows[-1]["ts"] + 3_600_000))
    done = run(fleet, *later, verb="progress")
    assert done.exit_code == 1
    assert done.stdout.splitlines()[0].startswith("cluster")
    assert {line.split()[0] for line in done.stdout.splitlines()[1:]} == {"north"}
    assert run(fleet, *later, "--cluster", "east", verb="progress").exit_code == 0


def test_a_plan_of_several_clusters_is_refused(fleet: Path) -> None:
    done = run(fleet, "--plan", fleet, verb="progress")
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
    assert "choose one with --cluster: east, west" in done.stderr


def test_samples_of_each_cluster_are_its_own(fleet: Path) -> None:
    for cluster, size in (("east", 100), ("west", 7)):
        logs = [(1, "/a", "orders", 0, size, None, False)]
        place = Place(fleet / "tables", cluster, "s1")
        place.write(REPLICA_LOG, from_rows(REPLICA_LOG, logs))
        place.write(PARTITION, from_rows(PARTITION, [("orders", 0, [1], [1], 1, 0, None, 0, None, None)]))
    done = run(fleet, "--samples", fleet / "tables", "--json", verb="progress")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    sizes = {(line["cluster"], line["progress"]["bytes_total"]) for line in lines if "progress" in line}
    assert {("east", 300), ("west", 21)} <= sizes
