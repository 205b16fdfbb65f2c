"""How catalogs are named, what cannot be, and how snapshots are found in what a catalog lists."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from kedge.controller.cli.root import kedge
from kedge.pipeline.errors import BadInput, NotFound
from kedge.pipeline.policy import read_policy
from kedge.pipeline.tables.arrow import Arrow, empty, from_rows
from kedge.pipeline.tables.declared import BROKER, PARTITION, PLAN, PLAN_MOVE, REJECTED_ROWS, WAVE, WAVE_MOVE
from kedge.pipeline.tables.files import Place, find_place, find_places, find_snapshots
from kedge.pipeline.tables.listed import Listed
from kedge.pipeline.tables.location import Location
from kedge.pipeline.verbs.kept import Given, Kept

FILES = frozenset(
    f"{table}/cluster={cluster}/snapshot={snapshot}/{part}.parquet"
    for table, cluster, snapshot, part in (
        ("partition", "east", "1", "part"),
        ("partition", "east", "2", "part"),
        ("partition", "west", "1", "part"),
        ("plan", "east", "1", "drain"),
    )
)


def test_a_catalog_is_named_apart_from_folders() -> None:
    named = Location("catalog:lake.kedge", "iceberg")
    assert (named.is_catalog, named.is_local, named.in_spark, named.schema) == (True, False, True, ("lake", "kedge"))
    assert named.absolute() is named
    for text in ("lake.kedge", "catalog/kedge", "s3a://catalog:1/kedge"):
        assert not Location(text).in_spark
    delta = Location("tables", "delta").absolute()
    assert (delta.text, delta.format, delta.in_spark) == (str(Path("tables").absolute()), "delta", True)


@pytest.mark.parametrize(
    "text,kind,said",
    [
        ("catalog:", "parquet", "catalog:: expected catalog:SCHEMA or catalog:CATALOG.SCHEMA"),
        ("catalog:a`b", "delta", "expected catalog:SCHEMA"),
        ("a\udcff", "parquet", "expected a path or a URI in UTF-8, without NUL"),
        ("a\0", "parquet", "expected a path or a URI in UTF-8, without NUL"),
        ("catalog:a.b", "orc", "format: expected one of parquet, delta, iceberg; got 'orc'"),
        ("s3a://b/k", "iceberg", "s3a://b/k: iceberg tables need a catalog, catalog:CATALOG.SCHEMA"),
    ],
)
def test_what_is_no_catalog_or_no_format_is_refused(text: str, kind: str, said: str) -> None:
    with pytest.raises(BadInput, match=said.replace("(", r"\(")):
        Location(text, kind)


@pytest.mark.parametrize("command", ["validate", "collect"])
def test_only_spark_reads_and_writes_a_catalog(command: str, tmp_path: Path) -> None:
    """Another engine is refused before anything is read, also by the library."""
    more = ("--cluster", "c", "--snapshot", "1", "--map", __file__) if command == "collect" else ()
    done = CliRunner().invoke(kedge, ["plan", command, "catalog:kedge", *more, "--engine", "local"])
    said = "kedge: catalog:kedge: only Spark reads and writes a catalog; use --engine spark\n"
    assert (done.exit_code, done.stdout, done.stderr) == (2, "", said)
    done = CliRunner().invoke(kedge, ["plan", command, str(tmp_path), *more, "--format", "delta", "--engine", "local"])
    assert (done.exit_code, done.stderr.count("only Spark reads and writes delta")) == (2, 1)
    with pytest.raises(BadInput, match="only Spark reads and writes a catalog"):
        find_place("catalog:kedge", PARTITION, None, None)


def test_snapshots_are_found_in_what_a_catalog_lists() -> None:
    root = Listed("catalog:kedge", files=FILES)
    assert [(p.cluster, p.snapshot) for p in find_places(root, PARTITION, None)] == [("east", "2"), ("west", "1")]
    assert [p.snapshot for p in find_snapshots(root, PARTITION, "east")] == ["1", "2"]
    assert [p.has(PLAN, "drain") for p in find_snapshots(root, PARTITION, "east")] == [True, False]
    with pytest.raises(NotFound, match="catalog:kedge: the folder has no snapshot 3 of cluster west"):
        find_place(root, PARTITION, "west", "3")
    with pytest.raises(NotFound, match="catalog:kedge: no table partition"):
        find_places(Listed("catalog:kedge"), PARTITION, None)


def test_a_policy_names_a_format(tmp_path: Path) -> None:
    (tmp_path / "p.toml").write_text('tables = "catalog:lake.kedge"\nformat = "iceberg"\nout = "o"\n')
    assert read_policy(tmp_path / "p.toml").tables == Location("catalog:lake.kedge", "iceberg")
    (tmp_path / "p.toml").write_text('tables = "t"\nformat = "delta"\nout = "o"\n')
    assert read_policy(tmp_path / "p.toml").tables == Location(str(tmp_path / "t"), "delta")


def plan_of(moves: int) -> Arrow:
    """The table of the plan p alone, which moves so many partitions."""
    row: tuple[object, ...] = ("p", "drain", moves, moves, 0, 0, 0, 0, 0, 0, True, *[1.0] * 8, {}, "")
    return from_rows(PLAN, [row])


def test_a_table_without_rows_is_there_only_with_its_plan() -> None:
    """And its waves only where it moves nothing, or moves are in none."""
    bare = Given(Location("catalog:kedge"), "c", "1")
    with pytest.raises(NotFound, match="catalog:kedge: no table broker of cluster c, snapshot 1"):
        bare.read(BROKER)
    with pytest.raises(NotFound, match="no plan p of cluster c, snapshot 1: catalog:kedge has no such plan"):
        bare.read(PLAN, "p")
    with pytest.raises(NotFound):
        bare.read(PLAN_MOVE, "p")
    planned = Given(Location("catalog:kedge"), "c", "1", {PLAN.name: plan_of(moves=0)})
    assert planned.read(PLAN_MOVE, "p").num_rows == 0
    assert (planned.has(WAVE, "p"), planned.has(WAVE, "q"), planned.has(REJECTED_ROWS)) == (True, False, False)
    moving = Given(Location("catalog:kedge"), "c", "1", {PLAN.name: plan_of(moves=3)})
    assert not moving.has(WAVE_MOVE, "p")


def test_what_is_kept_is_read_before_what_is_below(tmp_path: Path) -> None:
    place = Place(tmp_path, "c", "1")
    place.write(BROKER, empty(BROKER))
    kept = Kept.over(Kept.over(place))
    kept.remove(BROKER)
    kept.write(PARTITION, empty(PARTITION))
    assert (kept.has(BROKER), kept.has(PARTITION), place.has(BROKER)) == (False, True, True)
    with pytest.raises(NotFound):
        kept.read(BROKER)
    kept.keep(place)
    assert (place.has(BROKER), place.has(PARTITION)) == (False, True)
