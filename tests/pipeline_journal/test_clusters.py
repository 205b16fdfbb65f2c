"""Journals of several clusters: whose a file is, and audits of all of them in one run."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

from controller.cli.root import kedge
from pipeline.audit import audit
from pipeline.journal.arrow import batch_of
from pipeline.journal.files import NoJournal, cluster_of, journal_files, journals, read_part, whole_part
from tests.pipeline_journal.journals import leader_outside_isr, write, written


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    """East is clean, west is not; their files have the same names."""
    write(tmp_path / "cluster=east", written())
    rows = written()
    leader_outside_isr(rows)
    write(tmp_path / "cluster=west", rows)
    return tmp_path


def run(*arguments: object) -> Result:
    return CliRunner().invoke(kedge, ["audit", *map(str, arguments), "--quiet"])


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
    with pytest.raises(NoJournal, match="several clusters: east, west"):
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
    assert (unknown.exit_code, unknown.stderr) == (2, "kedge: no journal of cluster north; there are: east, west\n")


def test_a_page_of_several_clusters_is_refused(fleet: Path) -> None:
    done = run(fleet, "--report", fleet / "page.html")
    assert done.exit_code == 2
    assert "name one with --cluster: east, west" in done.stderr
    assert run(fleet, "--report", fleet / "page.html", "--cluster", "west").exit_code == 1
    assert (fleet / "page.html").is_file()
