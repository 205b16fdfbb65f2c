"""Tables in an object store: the commands do there what they do in a folder, to the byte."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from pathlib import Path

import pyarrow.fs
import pytest

from kedge.pipeline.errors import BadInput, NotFound
from kedge.pipeline.generating import generate
from kedge.pipeline.tables.arrow import from_rows
from kedge.pipeline.tables.declared import BROKER, PARTITION, TABLES
from kedge.pipeline.tables.files import Place, find_place, find_places, find_snapshots
from kedge.pipeline.tables.location import Location
from servers import free_port
from tests.kit.commands import plan as run
from tests.s3 import s3

pytestmark = pytest.mark.server

BROKERS = from_rows(BROKER, [(1, None, None, "alive", None, None, None)])


@pytest.fixture(scope="module")
def bucket() -> Iterator[str]:
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    with s3() as address:
        yield address


def in_bucket(root: str) -> dict[str, bytes]:
    system, base = pyarrow.fs.FileSystem.from_uri(root.replace("s3a://", "s3://"))
    found = system.get_file_info(pyarrow.fs.FileSelector(base, recursive=True))
    files = [info.path for info in found if info.type == pyarrow.fs.FileType.File]
    return {path.removeprefix(f"{base}/"): system.open_input_file(path).read() for path in files}


def in_folder(root: Path) -> dict[str, bytes]:
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def test_a_cluster_is_planned_in_an_object_store_as_in_a_folder(bucket: str, tmp_path: Path) -> None:
    """From a map to an export: what is printed and what is written."""
    placed = [{"topic": f"t{i % 4}", "partition": i // 4, "replicas": [1 + i % 4, 5 + i % 3]} for i in range(40)]
    (tmp_path / "map.json").write_text(json.dumps({"version": 1, "partitions": placed}))
    printed: list[list[str]] = []
    for tables in (f"{bucket}/one", str(tmp_path / "tables")):
        out, collected = (
            tmp_path / f"out-{len(printed)}",
            ["--cluster", "c", "--snapshot", "1", "--taken-at", "2026-11-28", "--json", "--map"],
        )
        lines = [
            ("collect", tables, *collected, tmp_path / "map.json"),
            ("compute-load", tables, "--json"),
            ("validate", tables, "--json"),
            ("drain", tables, "--brokers", "1", "--name", "d", "--json"),
            ("waves", tables, "--name", "d", "--throttle", "1MB", "--json"),
            ("compare", tables, "--name", "d", "--json"),
            ("export", tables, out, "--name", "d"),
        ]
        done = [run(*line) for line in lines]
        assert [one.exit_code for one in done[:1] + done[3:]] == [0] * 5, [one.stderr for one in done]
        printed.append([one.stdout for one in done[:-1]])
    assert printed[0] == printed[1]
    assert in_bucket(f"{bucket}/one") == in_folder(tmp_path / "tables")
    assert in_folder(tmp_path / "out-0") == in_folder(tmp_path / "out-1")


@pytest.mark.full
def test_a_fleet_is_found_and_planned_in_an_object_store(bucket: str) -> None:
    root = f"{bucket}/fleet"
    made = generate(brokers=12, topics=4, partitions=9, seed=4)
    for cluster, snapshot in (("west", "1"), ("east", "1"), ("east", "2")):
        for name, table in made.items():
            Place(root, cluster, snapshot).write(TABLES[name], table)
    assert [(one.cluster, one.snapshot) for one in find_places(root, BROKER, None)] == [("east", "2"), ("west", "1")]
    assert [one.snapshot for one in find_snapshots(root, BROKER, "east")] == ["1", "2"]
    done = run("drain", root, "--brokers", "1001", "--all-clusters", "--json")
    assert done.stderr == ""
    assert [row["cluster"] for row in json.loads(done.stdout)["clusters"]] == ["east", "west"]
    place = find_place(root, BROKER, "west", None)
    assert place.parts(TABLES["plan"]) == ["drain"]
    place.remove(TABLES["plan"], "drain")
    place.remove(TABLES["plan"], "drain")
    assert not place.has(TABLES["plan"], "drain")


@pytest.mark.full
def test_what_is_not_there_or_cannot_be_reached_is_one_line(
    bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = Place(f"{bucket}/none", "c", "1")
    with pytest.raises(NotFound, match="the snapshot has no table broker"):
        place.read(BROKER)
    with pytest.raises(NotFound, match=rf"{bucket}/none: the folder does not exist"):
        find_place(f"{bucket}/none", PARTITION, None, None)
    with pytest.raises(BadInput, match="expected a local folder"):
        place.path(BROKER)
    nobody = f"s3://tables/x?endpoint_override=127.0.0.1:{free_port()}&scheme=http&region=us-east-1"
    for root, said in ((nobody, "s3://tables/x: cannot be reached: "), ("foo://x", "foo://x: cannot be reached: ")):
        done = run("validate", root)
        assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (2, "", 1)
        assert done.stderr.startswith(f"kedge: {said}")
    with pytest.raises(OSError, match=r"nobucket/t/broker/.*: cannot be written"):
        Place("s3a://nobucket/t", "c", "1").write(BROKER, BROKERS)
    monkeypatch.chdir(tmp_path)
    Place(f"file://{tmp_path}/t", "c", "1").write(BROKER, BROKERS)
    assert Place("t", "c", "1").read(BROKER).equals(Place(Location("t").absolute(), "c", "1").read(BROKER))
