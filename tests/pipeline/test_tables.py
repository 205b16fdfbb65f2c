"""Tables: what is declared is what is kept, and what is not of a table is refused by name."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kedge.pipeline.errors import BadInput, NotFound
from kedge.pipeline.tables.arrow import arrow_schema, conform, empty, from_rows
from kedge.pipeline.tables.declared import BROKER, PARTITION, PLAN, REJECTED_ROWS, SNAPSHOT_TIME, TABLES
from kedge.pipeline.tables.files import (
    GROUP_ROWS,
    Place,
    Wanted,
    find_place,
    find_places,
    find_snapshots,
    read_all,
    skipped_folders,
)
from kedge.pipeline.tables.journal import JOURNAL_EVENT
from kedge.pipeline.tables.rejects import Rejects
from kedge.pipeline.tables.schema import Table
from tests.disks import file_size_limit

BROKERS = from_rows(BROKER, [(2, None, "b", "alive", None, None, 1.5), (1, "h", "a", "dead", 10, None, None)])


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path, "east", "2026-11-21")


@pytest.mark.parametrize(
    "table", [*(t for t in TABLES.values() if t is not SNAPSHOT_TIME), JOURNAL_EVENT], ids=lambda table: table.name
)
def test_an_empty_table_keeps_its_declared_columns_and_types(place: Place, table: Table) -> None:
    place.write(table, empty(table))
    assert place.read(table).schema.equals(arrow_schema(table))


def test_a_table_is_sorted_by_its_key_below_its_cluster_and_snapshot(place: Place, tmp_path: Path) -> None:
    """The same rows give the same bytes."""
    written = []
    for _ in range(2):
        place.write(BROKER, BROKERS)
        written.append((tmp_path / "broker/cluster=east/snapshot=2026-11-21/part.parquet").read_bytes())
    assert written[0] == written[1]
    assert place.read(BROKER).column("broker_id").to_pylist() == [1, 2]


@pytest.mark.slow
def test_a_file_has_groups_of_rows_for_several_cores(place: Place) -> None:
    rows = from_rows(BROKER, [(i, None, None, "alive", None, None, None) for i in range(GROUP_ROWS + 1)])
    place.write(BROKER, rows)
    assert pq.read_metadata(place.path(BROKER)).num_row_groups == 2
    assert place.read(BROKER).equals(rows)


def test_maps_and_lists_come_back(place: Place) -> None:
    row = ("p", "drain", 1, 1, 1, 1, 0, 0, 0, 0, True, *[1.0] * 8, [("brokers", "1,2")], "ab")
    place.write(PLAN, from_rows(PLAN, [row]), "p")
    assert place.read(PLAN, "p").column("settings").to_pylist() == [[("brokers", "1,2")]]
    partition = ("t", 0, [1, 2], [1], 1, 0, None, 0, None, None)
    place.write(PARTITION, from_rows(PARTITION, [partition]))
    assert place.read(PARTITION).column("replicas").to_pylist() == [[1, 2]]
    assert place.parts(PLAN) == ["p"]


def test_a_write_that_fails_leaves_the_old_file_and_nothing_beside_it(place: Place) -> None:
    place.write(BROKER, BROKERS)
    path = place.path(BROKER)
    before = path.read_bytes()
    with pytest.raises(BadInput, match="no column broker_id"):
        place.write(BROKER, BROKERS.drop_columns(["broker_id"]))
    with file_size_limit(100), pytest.raises(OSError, match="File too large"):
        place.write(BROKER, BROKERS)
    assert path.read_bytes() == before
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_a_column_that_is_missing_or_null_or_of_another_type_is_named() -> None:
    with pytest.raises(BadInput, match=r"here: no column broker_id; table broker has the columns broker_id, host"):
        conform(BROKER, BROKERS.drop_columns(["broker_id", "state"]), "here")
    nulls = BROKERS.set_column(0, "broker_id", pa.array([None, 1], pa.int32()))
    with pytest.raises(BadInput, match="column broker_id is null in 1 row"):
        conform(BROKER, nulls, "here")
    words = BROKERS.set_column(0, "broker_id", pa.array(["one", "two"]))
    with pytest.raises(BadInput, match="here: column broker_id of table broker: expected int32, got string"):
        conform(BROKER, words, "here")


def test_tables_of_other_programs_are_conformed() -> None:
    """Integers are wider, text is a dictionary, times have no zone, a leader is null, what may be null is absent."""
    written = pa.table(
        {
            "partition": pa.array([0, 1], pa.int64()),
            "topic": pa.array(["t", "t"]).dictionary_encode(),
            "replicas": pa.array([[1, 2], [2, 1]], pa.large_list(pa.int64())),
            "isr": pa.array([[1], []], pa.list_(pa.int64())),
            "leader": pa.array([1.0, None], pa.float64()),
            "cluster": ["east", "east"],
        }
    )
    found = conform(PARTITION, written, "here")
    assert found.schema.equals(arrow_schema(PARTITION))
    assert found.to_pylist() == [
        dict(zip(PARTITION.names, row, strict=True))
        for row in [("t", 0, [1, 2], [1], 1, 0, None, 0, None, None), ("t", 1, [2, 1], [], -1, 0, None, 0, None, None)]
    ]
    times = pa.table({"taken_at": pa.array([datetime(2026, 11, 28)], pa.timestamp("ns"))})  # noqa: DTZ001
    assert conform(SNAPSHOT_TIME, times, "here")["taken_at"].to_pylist() == [datetime(2026, 11, 28, tzinfo=UTC)]


def test_every_file_of_another_program_is_read(place: Place, tmp_path: Path) -> None:
    """Pandas and Spark name files as they like, and Spark leaves files beside them."""
    folder = tmp_path / "broker/cluster=east/snapshot=2026-11-21"
    folder.mkdir(parents=True)
    pq.write_table(BROKERS.slice(0, 1), folder / "6f1e-0.parquet")
    pq.write_table(BROKERS.slice(1).select(["state", "broker_id"]), folder / "part-00001-c000.snappy.parquet")
    for name in ("_SUCCESS", "._SUCCESS.crc", "_metadata.parquet"):
        (folder / name).touch()
    assert place.read(BROKER)["broker_id"].to_pylist() == [1, 2]
    with pytest.raises(BadInput, match="another program wrote table broker of cluster east"):
        place.write(BROKER, BROKERS)


def test_what_a_later_version_wrote_is_refused(place: Place) -> None:
    place.write(BROKER, BROKERS)
    path = place.path(BROKER)
    assert pq.read_metadata(path).metadata[b"kedge.schema"] == b"1"
    pq.write_table(pq.read_table(path).replace_schema_metadata({"kedge.schema": "2"}), path)
    with pytest.raises(BadInput, match="a later version of Kedge wrote it"):
        place.read(BROKER)


def test_names_of_folders_are_escaped_as_by_spark_or_plain(tmp_path: Path) -> None:
    for folder in ("cluster=a%3Db", "cluster=we st", "cluster=c%27d", "cluster=__HIVE_DEFAULT_PARTITION__", "cluster="):
        (tmp_path / "broker" / folder / "snapshot=1").mkdir(parents=True)
        pq.write_table(BROKERS, tmp_path / "broker" / folder / "snapshot=1/x.parquet")
    found = find_places(tmp_path, BROKER, None)
    assert [place.cluster for place in found] == ["a=b", "c'd", "we st"]
    assert all(place.read(BROKER).num_rows == 2 for place in found)
    assert skipped_folders(tmp_path, BROKER) == ["broker/cluster=", "broker/cluster=__HIVE_DEFAULT_PARTITION__"]


def test_the_newest_snapshot_is_the_one_taken_last(tmp_path: Path) -> None:
    """Those of unknown time are older, and are ordered by the numbers in their names."""
    for name in ("9", "10", "monday", "friday"):
        Place(tmp_path, "east", name).write(BROKER, BROKERS)
    assert [place.snapshot for place in find_snapshots(tmp_path, BROKER, "east")] == ["friday", "monday", "9", "10"]
    for day, name in ((23, "monday"), (27, "friday"), (1, "monday")):
        Place(tmp_path, "east", name).write(
            SNAPSHOT_TIME, from_rows(SNAPSHOT_TIME, [(datetime(2026, 11, day, tzinfo=UTC),)])
        )
    assert [place.snapshot for place in find_snapshots(tmp_path, BROKER, "east")] == ["9", "10", "monday", "friday"]
    assert find_place(tmp_path, BROKER, None, None).snapshot == "friday"
    last = Place(tmp_path, "east", "9").last_with(BROKER)
    assert last is not None
    assert last.snapshot == "friday"


@pytest.mark.parametrize("content", [b"", b"PAR1", b"no parquet at all" * 100], ids=["empty", "torn", "other"])
def test_a_broken_file_is_a_clear_error(place: Place, content: bytes) -> None:
    place.write(BROKER, BROKERS)
    path = place.path(BROKER)
    path.write_bytes(content)
    with pytest.raises(BadInput, match="cannot be read as Parquet"):
        place.read(BROKER)


@pytest.mark.parametrize("name", ["", "..", "a/b", ".hidden", "a\nb", "x" * 201])
def test_a_name_that_is_no_folder_of_its_own_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(BadInput, match="cluster"):
        Place(tmp_path, name, "s")
    with pytest.raises(BadInput, match="part"):
        Place(tmp_path, "c", "s").path(BROKER, name)


def test_the_only_cluster_and_the_last_snapshot_are_found_where_none_is_named(tmp_path: Path) -> None:
    for snapshot in ("2026-02", "2026-10"):
        Place(tmp_path, "east", snapshot).write(BROKER, BROKERS)
    assert find_place(tmp_path, BROKER, None, None) == Place(tmp_path, "east", "2026-10")
    Place(tmp_path, "west", "1").write(BROKER, BROKERS)
    with pytest.raises(BadInput, match="give --cluster with one of east, west, or --all-clusters"):
        find_place(tmp_path, BROKER, None, None)
    assert find_place(tmp_path, BROKER, "west", None).snapshot == "1"
    Place(tmp_path, "east", "2026-11").write(BROKER, BROKERS)
    Place(tmp_path, "east", "2026-11").remove(BROKER)
    assert find_place(tmp_path, BROKER, "east", None).snapshot == "2026-10"
    with pytest.raises(NotFound, match="no snapshot of cluster north"):
        find_place(tmp_path, BROKER, "north", None)
    with pytest.raises(NotFound, match="the folder does not exist"):
        find_place(tmp_path / "none", BROKER, None, None)


def test_what_is_rejected_is_kept_with_its_place_and_reason() -> None:
    rejects = Rejects()
    rejects.add("file", 3, {"b": 1, "a": "\ud800"}, "no good")
    rejects.add("file", None, "x" * 5000, "too long")
    table = rejects.table()
    assert table.schema.equals(arrow_schema(REJECTED_ROWS))
    assert table.column("reason").to_pylist() == ["no good", "too long"]
    assert table.column("raw").to_pylist()[0].startswith('{"a"')


@pytest.mark.parametrize("columns", ["a int32", "a", "a int, a int"], ids=["type", "no type", "twice"])
def test_a_bad_declaration_is_refused(columns: str) -> None:
    with pytest.raises(ValueError, match=r"expected"):
        Table("t", columns)


def test_what_is_wanted_is_read_by_name_and_only_what_may_be_missing_is(place: Place) -> None:
    place.write(BROKER, BROKERS)
    wanted = [Wanted(BROKER), Wanted(PARTITION, optional=True)]
    assert list(read_all(place, wanted)) == ["broker"]
    with pytest.raises(NotFound, match="the snapshot has no table partition"):
        read_all(place, [Wanted(BROKER), Wanted(PARTITION)])


def test_of_a_fleet_every_cluster_that_has_the_snapshot_is_found_by_name(tmp_path: Path) -> None:
    for cluster, snapshot in (("west", "1"), ("east", "1"), ("east", "2"), ("north", "2")):
        Place(tmp_path, cluster, snapshot).write(BROKER, BROKERS)
    (tmp_path / "broker/cluster=empty").mkdir()

    def found(snapshot: str | None) -> list[tuple[str, str]]:
        return [(place.cluster, place.snapshot) for place in find_places(tmp_path, BROKER, snapshot)]

    assert found("1") == [("east", "1"), ("west", "1")]
    assert found(None) == [("east", "2"), ("north", "2"), ("west", "1")]
    with pytest.raises(NotFound, match="no table broker of snapshot 3"):
        found("3")
    with pytest.raises(NotFound, match="no table partition"):
        find_places(tmp_path, PARTITION, None)
