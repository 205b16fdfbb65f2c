"""A disk that is full: one line names the file that was asked for, whatever is written beside it meanwhile."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from click.testing import Result

from kedge.pipeline.submit.exported import read_export
from kedge.pipeline.submit.kept import progress_file, read_progress
from tests.cli.plans import put
from tests.cli.ran import KEDGE
from tests.disks import file_size_limit
from tests.kit.commands import run
from tests.pipeline_journal.journals import write, written

FULL = Path("/dev/full")


def is_said(done: Result, what: str) -> bool:
    return (done.exit_code, done.stderr) == (2, f"kedge: {what}\n")


@pytest.fixture
def tables(tmp_path: Path) -> Path:
    """Of a cluster, and a plan for it."""
    tables = tmp_path / "tables"
    put(tables)
    assert run("plan", "drain", tables, "--brokers", "1001", "--name", "p").exit_code in (0, 1)
    return tables


@pytest.mark.slow
def test_a_table_that_does_not_fit_is_named(tables: Path) -> None:
    with file_size_limit(100):
        done = run("plan", "drain", tables, "--brokers", "1001", "--name", "p")
    named = done.stderr.removeprefix(f"kedge: {tables}/")
    assert named.endswith("cluster=east/snapshot=1/p.parquet: File too large\n"), done.stderr
    assert done.exit_code == 2
    assert not [path for path in tables.rglob(".*") if path.is_file()]


@pytest.mark.parametrize("option", ["--out", "--report"])
def test_a_file_beside_the_tables_is_named(tables: Path, option: str) -> None:
    done = run("plan", "drain", tables, "--brokers", "1001", option, FULL)
    assert is_said(done, "/dev/full: No space left on device")


@pytest.mark.slow
def test_an_export_names_the_file_in_the_folder_that_was_asked_for(
    tables: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not in the one beside it that it is made in, which is gone; what stood there stays."""
    monkeypatch.chdir(tmp_path)
    assert run("plan", "export", tables, "out", "--name", "p").exit_code == 0
    before = sorted(path.name for path in tmp_path.iterdir())
    manifest = Path("out/manifest.json").read_bytes()
    with file_size_limit(100):
        done = run("plan", "export", tables, "out", "--name", "p")
    assert is_said(done, "out/plan.json: File too large")
    assert sorted(path.name for path in tmp_path.iterdir()) == before
    assert Path("out/manifest.json").read_bytes() == manifest
    (tmp_path / "file").touch()
    done = run("plan", "export", tables, "file/out", "--name", "p")
    assert is_said(done, "file/out/plan.json: Not a directory")


@pytest.mark.slow
def test_the_progress_of_a_plan_is_named(tables: Path, tmp_path: Path) -> None:
    for arguments in (("waves", tables, "--name", "p"), ("export", tables, tmp_path / "out", "--name", "p")):
        assert run("plan", *arguments).exit_code == 0
    progress = read_progress(read_export(tmp_path / "out"))
    with file_size_limit(20), pytest.raises(OSError, match="File too large") as raised:
        progress.set(1, "sent")
    assert raised.value.filename == str(progress_file(tmp_path / "out"))


def test_the_page_and_the_tables_of_an_audit_are_named(tmp_path: Path) -> None:
    write(tmp_path / "journal", written())
    done = run("journal", "audit", tmp_path / "journal", "--quiet", "--report", FULL)
    assert is_said(done, "/dev/full: No space left on device")
    with file_size_limit(100):
        done = run("journal", "audit", tmp_path / "journal", "--quiet", "--out", tmp_path / "out")
    assert is_said(done, f"{tmp_path}/out/audit_violation/part-0.parquet: File too large")


def test_a_memory_store_and_a_dump_of_it_are_named(tmp_path: Path) -> None:
    tree, there, full = tmp_path / "tree.json", tmp_path / "there", tmp_path / "full"
    keys = ["/controller_epoch", *(f"/k{number}" for number in range(100))]
    tree.write_text(json.dumps({key: {"value": "1", "version": 0} for key in keys}))
    assert run("store", "load", tree, f"memory:{there}").exit_code == 0
    with file_size_limit(100):
        loaded = run("store", "load", tree, f"memory:{full}")
        dumped = run("store", "dump", f"memory:{there}", full)
        moved = run("store", "migrate", f"memory:{there}", f"memory:{full}")
    assert is_said(loaded, f"memory:{full}: cannot be written: File too large")
    assert is_said(dumped, f"{full}: File too large")
    assert (moved.exit_code, moved.stderr.splitlines()[-1]) == (
        2,
        f"kedge: memory:{there}: cannot be written: File too large",
    )
    assert is_said(run("store", "dump", f"memory:{there}", FULL), "/dev/full: No space left on device")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["there", "tree.json"]


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [["--help"], ["completion", "bash"]])
def test_a_full_disk_behind_stdout_is_one_line(arguments: list[str]) -> None:
    """Python would write the rest again at exit, and complain a second time."""
    command = [*KEDGE, *arguments]
    with FULL.open("w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, "kedge: stdout: No space left on device\n")
