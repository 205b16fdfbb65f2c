"""`kedge journal audit` and `kedge journal progress`: exit codes, what goes where, what is refused."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from kedge.controller.cli.printing import utc
from tests.cli.ran import refused
from tests.kit.commands import run
from tests.pipeline_journal.journals import completed_early, seeded, write, written


def test_an_honest_journal_is_exit_code_0_and_one_line(tmp_path: Path) -> None:
    write(tmp_path, written())
    done = run("journal", "audit", tmp_path)
    assert (done.exit_code, done.stdout) == (0, "")
    assert done.stderr == f"kedge: {len(written())} lines of 2 terms in 2 files: no violation\n"


def test_a_violation_is_exit_code_1_and_named_by_file_and_line(tmp_path: Path) -> None:
    rows = written()
    at = completed_early(rows)
    write(tmp_path, rows)
    done = run("journal", "audit", tmp_path)
    assert done.exit_code == 1
    assert f"kedge-1-0.jsonl:{at + 1}" in done.stdout
    assert "completion" in done.stdout


def test_json_has_a_line_per_violation_and_the_sum(tmp_path: Path) -> None:
    rows = written()
    completed_early(rows)
    write(tmp_path, rows)
    done = run("journal", "audit", tmp_path, "--json")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert lines[0]["violation"]["kind"] == "completion"
    assert lines[-1]["summary"]["violations"] == len(lines) - 1
    assert lines[-1]["summary"]["lines"] == len(rows)


def test_rejected_lines_without_a_violation_are_exit_code_2_and_said(tmp_path: Path) -> None:
    """The very last line of a file that is not read: no line after it whose chain could break."""
    write(tmp_path, written())
    (tmp_path / "kedge-9-0.jsonl").write_bytes(b"no journal at all\n")
    done = run("journal", "audit", tmp_path)
    assert done.exit_code == 2
    assert "kedge-9-0.jsonl:1: rejected: not JSON" in done.stderr


@pytest.mark.parametrize(
    "name,text,said",
    [
        ("kedge-audit.json", '{"version":0,"id":"x"}', "the checkpoint has version 0, this kedge version 2: "),
        ("kedge-audit.json", "[]", "kedge-audit.json: the file cannot be read"),
        ("mine.txt", "", "the folder is neither empty nor a checkpoint of kedge journal audit --follow"),
    ],
)
def test_a_folder_that_is_no_checkpoint_of_this_version_is_refused_and_left(
    name: str, text: str, said: str, tmp_path: Path
) -> None:
    pytest.importorskip("pyspark")
    write(tmp_path / "journal", written())
    folder = tmp_path / "checkpoint"
    folder.mkdir()
    (folder / name).write_text(text)
    assert said in refused(
        run("journal", "audit", tmp_path / "journal", "--engine", "spark", "--follow", "--checkpoint", folder)
    )
    assert {path.name: path.read_text() for path in folder.iterdir()} == {name: text}


def test_the_page_and_the_tables_are_written(tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    write(journal, written())
    done = run("journal", "audit", journal, "--report", tmp_path / "page.html", "--out", tmp_path / "out")
    assert done.exit_code == 0
    assert (tmp_path / "page.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    assert (tmp_path / "out" / "audit_violation" / "part-0.parquet").is_file()


def test_progress_shows_what_runs_and_exit_code_1_says_that_a_move_is_stuck(tmp_path: Path) -> None:
    rows = [row for row in written() if row["seq"] <= next(r for r in written() if r["event"] == "TargetSet")["seq"]]
    write(tmp_path, rows)
    done = run("journal", "progress", tmp_path)
    assert done.exit_code == 0
    assert "orders-0" in done.stdout
    later = utc(rows[-1]["ts"] + 700_000, "milliseconds")
    done = run("journal", "progress", tmp_path, "--as-of", later)
    assert done.exit_code == 1
    assert "unknown" in done.stdout


@pytest.mark.slow
def test_progress_in_json_names_the_table_of_each_row(tmp_path: Path) -> None:
    seeded(tmp_path, 5, 300)
    done = run("journal", "progress", tmp_path, "--json")
    assert done.exit_code == 0
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert {*lines[-1]["summary"]} >= {"progress", "stuck", "broker_reassignment", "eta_calibration", "as_of_ms"}
    assert all(len(line) == 1 for line in lines)


@pytest.mark.full
@pytest.mark.server
def test_both_engines_print_the_same_bytes(tmp_path: Path) -> None:
    """As a user starts it: in a process of its own, which ends its JVM. Spark's own warnings are on stderr."""
    rows = written()
    completed_early(rows)
    write(tmp_path / "journal", rows)
    command = [
        sys.executable,
        "-c",
        "from kedge.controller.cli import main; main()",
        "journal",
        "audit",
        "--json",
        "journal",
    ]
    local, spark = (
        subprocess.run(
            [*command, "--engine", engine],
            cwd=tmp_path,
            capture_output=True,
            check=False,
            env={**os.environ, "TMPDIR": str(tmp_path)},
        )
        for engine in ("local", "spark")
    )
    assert (spark.returncode, spark.stdout) == (local.returncode, local.stdout)
    assert spark.stderr.endswith(local.stderr)
    assert local.returncode == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["journal"]
