"""`kedge plan collect --landing`: many clusters from the folders that other tools fill."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from kedge.pipeline.tables.declared import BROKER_LOAD, PARTITION, REJECTED_ROWS, REPLICA_LOAD
from kedge.pipeline.tables.files import Place
from tests.kit.commands import plan as run
from tests.s3 import s3


def placed(count: int) -> str:
    rows = [{"topic": "t", "partition": i, "replicas": [1, 2 + i % 2]} for i in range(count)]
    return json.dumps({"version": 1, "partitions": rows})


def sizes(count: int) -> str:
    logs = [{"partition": f"t-{i}", "size": 1000 + i, "offsetLag": 0, "isFuture": False} for i in range(count)]
    brokers = [{"broker": 1, "logDirs": [{"logDir": "/d", "error": None, "partitions": logs}]}]
    return json.dumps({"version": 1, "brokers": brokers})


def land(folder: Path, **files: str) -> Path:
    """Files by name, a dash for each underscore."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / f"{name.replace('_', '-')}.json").write_text(text)
    return folder


@pytest.fixture
def landing(tmp_path: Path) -> Path:
    """Two clusters, one of them with two snapshots."""
    for cluster, snapshot, count in (("east", "1", 3), ("east", "2", 6), ("west", "2", 9)):
        land(tmp_path / "in" / cluster / snapshot, map=placed(count), log_dirs_1=sizes(count))
    return tmp_path / "in"


def rows(tables: object, cluster: str, snapshot: str, table: Any = PARTITION) -> int:
    found: int = Place(str(tables), cluster, snapshot).read(table).num_rows
    return found


@pytest.mark.slow
def test_every_folder_is_a_snapshot(landing: Path, tmp_path: Path) -> None:
    """With sizes, validated and loaded, as one that is collected by itself."""
    tables = tmp_path / "tables"
    done = run("collect", tables, "--landing", f"{landing}/{{cluster}}/{{snapshot}}", "--json")
    assert (done.exit_code, done.stderr) == (0, "")
    said = json.loads(done.stdout)["clusters"]
    assert [(one["cluster"], one["snapshot"], one["partitions"]) for one in said] == [
        ("east", "1", 3), ("east", "2", 6), ("west", "2", 9),
    ]  # fmt: skip
    file = landing / "east" / "2"
    alone = ("--cluster", "east", "--snapshot", "2", "--map", file / "map.json", "--log-dirs", file / "log-dirs-1.json")
    assert run("collect", tmp_path / "alone", *alone).exit_code == 0
    for table in (PARTITION, REPLICA_LOAD, BROKER_LOAD, REJECTED_ROWS):
        one, other = (Place(tmp_path / name, "east", "2").path(table).read_bytes() for name in ("tables", "alone"))
        assert one == other, table.name


def test_folders_may_be_named_as_hive_names_them(landing: Path, tmp_path: Path) -> None:
    """Or with other words around the names; what tools hide is passed over."""
    hive = tmp_path / "hive"
    land(hive / "cluster=east" / "day-1.d", map=placed(2))
    land(hive / "_temporary", map="no")
    (hive / "cluster=east" / "day-1.d" / "_SUCCESS").touch()
    (hive / "cluster=east" / "day-1.d" / ".map.json.crc").touch()
    done = run("collect", tmp_path / "tables", "--landing", f"{hive}/cluster={{cluster}}/day-{{snapshot}}.d")
    assert (done.exit_code, done.stderr) == (0, "")
    assert rows(tmp_path / "tables", "east", "1") == 2
    assert landing.is_dir()


@pytest.mark.slow
def test_a_folder_that_does_not_fit_is_named(landing: Path, tmp_path: Path) -> None:
    """And the others are collected."""
    land(landing / "other place" / "1", map=placed(2))
    done = run("collect", tmp_path / "tables", "--landing", f"{landing}/{{cluster}}/{{snapshot}}")
    assert done.exit_code == 0
    assert done.stderr == f"kedge: {landing}/other place: skipped, because its name does not match --landing\n"
    assert rows(tmp_path / "tables", "west", "2") == 9


@pytest.mark.parametrize(
    "files,said",
    [
        ({}, "the folder has no files"),
        ({"map": placed(2), "tree": "{}"}, "expected exactly one file named map or tree"),
        ({"map": "[1"}, "map.json: not a whole JSON file"),
        ({"map": placed(2), "mapping": "{}"}, "mapping.json: expected a name that begins with one of"),
    ],
)
def test_a_cluster_whose_files_cannot_be_used_does_not_stop_the_others(
    landing: Path, tmp_path: Path, files: dict[str, str], said: str
) -> None:
    """Exit code 2, and of that one nothing is written."""
    land(landing / "bad" / "1", **files)
    done = run("collect", tmp_path / "tables", "--landing", f"{landing}/{{cluster}}/{{snapshot}}")
    assert done.exit_code == 2
    assert done.stderr.startswith("cluster bad, snapshot 1: ")
    assert said in done.stderr
    assert rows(tmp_path / "tables", "west", "2") == 9
    assert not Place(tmp_path / "tables", "bad", "1").has(PARTITION)


def test_a_bad_row_is_rejected(landing: Path, tmp_path: Path) -> None:
    """Exit code 1, as for `collect`."""
    land(landing / "west" / "2", log_dirs_1=sizes(11))
    done = run("collect", tmp_path / "tables", "--landing", f"{landing}/{{cluster}}/{{snapshot}}")
    assert done.exit_code == 1
    assert rows(tmp_path / "tables", "west", "2", REJECTED_ROWS) == 2


@pytest.mark.slow
def test_what_is_there_may_be_skipped(landing: Path, tmp_path: Path) -> None:
    """And running again without the option writes the same."""
    tables, pattern = tmp_path / "tables", f"{landing}/{{cluster}}/{{snapshot}}"
    assert run("collect", tables, "--landing", pattern).exit_code == 0
    before = {path: path.read_bytes() for path in tables.rglob("*.parquet")}
    land(landing / "west" / "3", map=placed(2))
    said = json.loads(run("collect", tables, "--landing", pattern, "--new", "--json").stdout)["clusters"]
    assert [(one["cluster"], one["snapshot"]) for one in said] == [("west", "3")]
    assert json.loads(run("collect", tables, "--landing", pattern, "--new", "--json").stdout) == {"clusters": []}
    done = run("collect", tables, "--landing", pattern, "--new")
    assert (done.exit_code, done.stdout) == (0, f"no snapshot is new: {tables} has all 4 of {pattern}\n")
    assert run("collect", tables, "--landing", pattern).exit_code == 0
    assert {path: path.read_bytes() for path in before} == before


def test_a_dry_run_writes_nothing(landing: Path, tmp_path: Path) -> None:
    done = run("collect", tmp_path / "tables", "--landing", f"{landing}/{{cluster}}/{{snapshot}}", "--dry-run")
    assert (done.exit_code, (tmp_path / "tables").exists()) == (0, False)


@pytest.mark.full
@pytest.mark.parametrize(
    "pattern,said",
    [
        ("in/{cluster}", "expected {cluster} and {snapshot}, each once"),
        ("in/{cluster}/{cluster}/{snapshot}", "each once"),
        ("in/{cluster}/{day}", "each once"),
        ("nowhere/{cluster}/{snapshot}", "the folder does not exist"),
        ("in/{cluster}/{snapshot}/more", "no folder matches"),
        pytest.param(
            "s3://kedge.invalid/{cluster}/{snapshot}?endpoint_override=127.0.0.1:1&scheme=http",
            "cannot be reached",
            marks=pytest.mark.slow,  # the client asks again for seconds
        ),
    ],
)
def test_a_pattern_that_cannot_be_used_is_one_line(
    landing: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pattern: str, said: str
) -> None:
    monkeypatch.chdir(landing.parent)
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "any")
    done = run("collect", tmp_path / "tables", "--landing", pattern)
    assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert said in done.stderr
    assert not (tmp_path / "tables").exists()


@pytest.mark.full
@pytest.mark.server
def test_files_are_read_from_an_object_store(landing: Path, tmp_path: Path) -> None:
    """To the same tables; only the times of collecting differ."""
    import pyarrow.fs  # noqa: PLC0415 - as the test

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    with s3() as bucket:
        system, base = pyarrow.fs.FileSystem.from_uri(bucket.replace("s3a://", "s3://"))
        pyarrow.fs.copy_files(str(landing), f"{base}/in", destination_filesystem=system)
        place, mark, query = bucket.partition("?")
        pattern = f"{place}/in/{{cluster}}/{{snapshot}}{mark}{query}"
        assert run("collect", tmp_path / "there", "--landing", pattern).exit_code == 0
    assert run("collect", tmp_path / "here", "--landing", f"{landing}/{{cluster}}/{{snapshot}}").exit_code == 0
    here, there = (
        {path.relative_to(of): path.read_bytes() for path in of.rglob("*.parquet") if "snapshot_time" not in path.parts}
        for of in (tmp_path / "here", tmp_path / "there")
    )
    assert here == there
