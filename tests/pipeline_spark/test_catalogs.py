"""Tables in a catalog of the session: the verbs say, export and write what they do in a folder."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import pytest
from click.testing import CliRunner

from kedge.controller.cli.root import kedge
from kedge.pipeline.policy import Fleet, Policy
from kedge.pipeline.stages.arrays import Limits
from kedge.pipeline.stages.requests import Drain, Leaders
from kedge.pipeline.stages.waves import WaveSettings
from kedge.pipeline.tables.declared import BROKER, RUN
from kedge.pipeline.tables.files import Place, Wanted
from kedge.pipeline.tables.location import Location
from kedge.pipeline.verbs.check import Check
from kedge.pipeline.verbs.compare import Compare
from kedge.pipeline.verbs.empty import IsEmpty
from kedge.pipeline.verbs.export import Export
from kedge.pipeline.verbs.load import Load
from kedge.pipeline.verbs.plan import Plan
from kedge.pipeline.verbs.run import Run
from kedge.pipeline.verbs.show import Show
from kedge.pipeline.verbs.verb import Output, Said, Verb
from kedge.pipeline.verbs.waves import Waves
from tests.pipeline_spark import fleets, schemas
from tests.pipeline_spark.fleets import SNAPSHOT
from tests.pipeline_spark.test_engines import files, run, told

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.full, pytest.mark.server]

_NUMBERS = count()


@pytest.fixture
def schema(spark: SparkSession) -> Iterator[str]:
    """The name of one that is not there yet."""
    name = f"kedge_{next(_NUMBERS)}"
    yield name
    spark.sql(f"DROP SCHEMA IF EXISTS {name} CASCADE")


@attrs.frozen
class Both:
    """The same fleet twice: in a schema, and in files for this process."""

    spark: SparkSession
    schema: str
    folder: Path
    clusters: tuple[str, ...]

    @property
    def places(self) -> list[Place]:
        return [Place(self.folder / "here/tables", cluster, SNAPSHOT) for cluster in self.clusters]

    def same(self, verb: Callable[[Path, Location], Verb]) -> dict[str, Any]:
        """What `verb`, made for a folder and tables, says and exports on both. The same, or the test fails."""
        from kedge.pipeline.spark.catalog import Catalog  # noqa: PLC0415 - needs Spark
        from kedge.pipeline.spark.groups import results  # noqa: PLC0415

        here, there, root = self.folder / "here", self.folder / "there", Location(f"catalog:{self.schema}")
        wanted = run(None, verb(here, Location(str(here / "tables"))), self.places)
        done = results(Catalog(self.spark, root), verb(there, root), [attrs.evolve(p, root=root) for p in self.places])
        found = {place.cluster: told(said) for place, said in done}
        assert plain(found, there) == plain(wanted, here)
        exported = {path: data for path, data in files(here).items() if not path.startswith("tables/")}
        assert (files(there) if there.exists() else {}) == exported
        return wanted

    def check_tables(self) -> None:
        """Both hold the same."""
        assert schemas.in_schema(self.spark, self.schema) == schemas.in_folder(self.places)


def plain(said: dict[str, Any], folder: Path) -> str:
    """Without the folder, and without the plans that are there instead of the one that is not."""
    return re.sub(r"(no plan \S+ of cluster \S+, snapshot \w+): [^']*", r"\1", repr(said).replace(str(folder), ""))


@pytest.fixture
def both(spark: SparkSession, schema: str, tmp_path: Path) -> Callable[[dict[str, Any]], Both]:
    def made(fleet: dict[str, Any]) -> Both:
        fleets.write(tmp_path / "here/tables", fleet)
        schemas.fill(spark, schema, fleet)
        return Both(spark, schema, tmp_path, tuple(sorted(fleet)))

    return made


def test_what_was_collected_is_loaded_in_a_catalog_as_in_files(both: Callable[[Any], Both]) -> None:
    """Twice: rows that cannot be used are rejected, and stay there once."""
    loaded = both(fleets.collected())
    said = loaded.same(lambda *_: Load())
    assert {one[2] for one in said.values()} == {0, 1}
    loaded.check_tables()
    loaded.same(lambda *_: Load())
    loaded.check_tables()


def test_plans_waves_and_exports_through_a_catalog_are_those_of_files(both: Callable[[Any], Both]) -> None:
    """Checked, planned, cut, compared, exported; those that cannot be are refused alike and harm no other. Planned once
    more, the waves of before are gone."""
    planned = both(fleets.planned())
    planned.same(lambda *_: Check(Limits()))

    def plan(folder: Path, _: Location) -> Verb:
        plans, pages = (Output(folder / suffix, suffix, by_cluster=True) for suffix in ("json", "html"))
        return Plan("p", Drain(), Limits(), plans=plans, pages=pages)

    said = planned.same(plan)
    assert [cluster for cluster, one in said.items() if isinstance(one[0], type)] == ["mixed", "none"]
    planned.same(lambda *_: Waves("p", WaveSettings(per_broker=2, throttle_bps=1e6), named=True))
    planned.same(lambda *_: Plan("even", Leaders(), Limits(), ignore_racks=True))
    said = planned.same(lambda *_: Compare(("p", "even", "never")))
    rows = [row for one in said.values() for row in json.loads(one[0])["plans"] if row["partitions_changed"]]
    assert {(row["plan"], row["waves"] is None) for row in rows} == {("p", False), ("even", True)}
    planned.same(lambda *_: Show("p", 3))
    planned.same(lambda *_: IsEmpty((), "never"))
    planned.same(lambda folder, _: Export("p", folder / "out", several=True))
    planned.check_tables()
    planned.same(plan)
    planned.check_tables()


def test_a_policy_is_run_on_a_catalog_and_not_twice(both: Callable[[Any], Both]) -> None:
    ran, steps = both(fleets.planned()), ("drain", "rebalance")

    def policy(folder: Path, tables: Location) -> Verb:
        return Run(Fleet(tables, folder / "out", Policy(steps=steps), {"east": Policy(steps=steps, window=3600)}))

    ran.same(policy)
    ran.check_tables()
    again = ran.same(policy)
    assert [json.loads(one[0])["unchanged"] for one in again.values() if not isinstance(one[0], type)] == [True] * 3


def kedge_plan(*line: object) -> tuple[int, str, str]:
    done = CliRunner().invoke(kedge, ["plan", *map(str, line)])
    return done.exit_code, done.stdout, done.stderr


def test_files_of_a_fleet_are_collected_into_a_catalog_as_into_a_folder(
    spark: SparkSession, schema: str, tmp_path: Path
) -> None:
    """By workers, each snapshot once; one whose files cannot be used is reported, and --new skips what is there."""
    for cluster, snapshot in (("east", "1"), ("east", "2"), ("west", "2"), ("bad", "1")):
        (folder := tmp_path / "in" / cluster / snapshot).mkdir(parents=True)
        rows = [{"topic": "t", "partition": i, "replicas": [1, 2 + i % 2]} for i in range(3 + len(cluster))]
        text = json.dumps({"version": 1, "partitions": rows})
        (folder / "map.json").write_text("{" if cluster == "bad" else text)
    spark.sql(f"CREATE SCHEMA {schema}")
    pattern, tables = f"{tmp_path}/in/{{cluster}}/{{snapshot}}", tmp_path / "tables"
    in_files = kedge_plan("collect", tables, "--landing", pattern, "--json", "--engine", "local")
    into = ("collect", f"catalog:{schema}", "--landing", pattern, "--json", "--engine", "spark")
    assert kedge_plan(*into, "--dry-run")[0] == 2
    assert schemas.in_schema(spark, schema) == {}
    assert kedge_plan(*into) == in_files
    assert (in_files[0], in_files[2].count("\n")) == (2, 1)
    places = [
        Place(str(tables), cluster, snapshot) for cluster, snapshot in (("east", "1"), ("east", "2"), ("west", "2"))
    ]
    assert schemas.in_schema(spark, schema) == schemas.in_folder(places)
    (tmp_path / "in/bad/1/map.json").unlink()
    (tmp_path / "in/bad/1").rmdir()
    code, out, _ = kedge_plan(*into, "--new")
    assert (code, json.loads(out)) == (0, {"clusters": []})


def test_plans_of_a_catalog_are_listed_as_those_of_files(
    both: Callable[[Any], Both], schema: str, tmp_path: Path
) -> None:
    both(fleets.planned())
    printed = []
    for tables in (f"catalog:{schema}", tmp_path / "here/tables"):
        for name in ("p", "q"):
            kedge_plan(
                "balance-leaders", tables, "--all-clusters", "--ignore-racks", "--name", name, "--engine", "spark"
            )
        printed.append(kedge_plan("list", tables, "--all-clusters", "--engine", "spark"))
    assert printed[0] == printed[1]
    assert printed[0][1].count("balance-leaders") == 8
    assert kedge_plan("forget", f"catalog:{schema}", "--older-than", "90d")[0] == 2


def test_a_second_check_that_finds_nothing_empties_what_the_first_found(spark: SparkSession, schema: str) -> None:
    """Of that cluster alone, and the same again changes nothing."""
    fleet = fleets.generated(2)
    for tables in fleet.values():
        fleets.change(tables, 0, state="dead")
    schemas.fill(spark, schema, fleet)
    check = ("validate", f"catalog:{schema}", "--engine", "spark", "--json")
    assert kedge_plan(*check, "--all-clusters")[0] == 1
    found = schemas.in_schema(spark, schema)["violation"]
    assert set(found) == {("g0", "1", "part"), ("g1", "1", "part")}
    assert kedge_plan(*check, "--cluster", "g0")[0] == 1
    assert schemas.in_schema(spark, schema)["violation"] == found
    mended = fleets.generated(2)["g0"]
    spark.sql(f"ALTER TABLE {schema}.broker DROP PARTITION (cluster = 'g0', snapshot = '1')")
    schemas.append(spark, schema, {"g0": {BROKER.name: mended[BROKER.name]}})
    for _ in range(2):
        assert kedge_plan(*check, "--cluster", "g0")[0] == 0
        assert schemas.in_schema(spark, schema)["violation"] == {("g1", "1", "part"): found["g1", "1", "part"]}


def test_rows_that_cannot_be_used_are_of_their_cluster_alone(spark: SparkSession, schema: str) -> None:
    """A null where none may be; a cluster without brokers: reported, and the others are planned."""
    fleet = fleets.generated(3)
    del fleet["g1"][BROKER.name]
    schemas.fill(spark, schema, fleet)
    spark.sql(f"INSERT INTO {schema}.`partition` (topic, cluster, snapshot) VALUES ('t', 'g2', '1')")  # noqa: S608 - ours
    line = ("balance-leaders", f"catalog:{schema}", "--engine", "spark", "--all-clusters", "--json")
    code, out, err = kedge_plan(*line)
    assert [row["cluster"] for row in json.loads(out)["clusters"]] == ["g0"]
    assert (code, err.splitlines()) == (
        2,
        [
            f"cluster g1: catalog:{schema}: no table broker of cluster g1, snapshot 1",
            f"cluster g2: catalog:{schema}: table partition: column partition is null in 1 row",
        ],
    )
    assert set(schemas.rows_of(spark, f"{schema}.plan", "plan")) == {("g0", "1", "balance-leaders")}


def test_tables_that_cannot_be_used_are_one_line_and_nothing_is_written(spark: SparkSession, schema: str) -> None:
    """No such schema or catalog, no table; columns of another type, or more; a format that the tables are not of."""
    schemas.fill(spark, schema, fleets.generated(1))
    root = f"catalog:{schema}"
    columns = "observed double, `limit` double, unit string, `when` string"
    spark.sql(f"CREATE TABLE {schema}.violation (cluster string, snapshot string, kind int, {columns}) USING parquet")
    assert_refused(root, f"{root}: table violation: column kind: expected string, got int")
    spark.sql(f"DROP TABLE {schema}.violation")
    spark.sql(f"ALTER TABLE {schema}.broker ADD COLUMNS (note string)")
    wider = "topic", "cast(partition AS bigint) partition", "replicas", "isr", "leader", "retention_ms"
    rows = spark.table(f"{schema}.partition").selectExpr("cluster", "snapshot", *wider).toArrow()
    spark.sql(f"DROP TABLE {schema}.partition")
    spark.createDataFrame(rows).write.partitionBy("cluster", "snapshot").saveAsTable(f"{schema}.partition")
    code, _, err = kedge_plan("validate", root, "--engine", "spark")
    assert code == 0, err  # others have more columns, or fewer, or wider ones
    columns = "cluster string, snapshot string, kind string, topic string, `partition` int, broker_id int, "
    spark.sql(f"DROP TABLE IF EXISTS {schema}.violation")
    spark.sql(
        f"CREATE TABLE {schema}.violation ({columns} observed double, `limit` double, unit string, `when` string, "
        f"more int) USING parquet PARTITIONED BY (cluster, snapshot)"
    )
    assert_refused(root, f"{root}: table violation has unknown columns: more")
    assert_refused(root, f"{root}: table partition: expected --format delta, got parquet", "--format", "delta")
    assert_refused("catalog:nowhere", "catalog:nowhere: [SCHEMA_NOT_FOUND] The schema `spark_catalog`.`nowhere` ")
    assert_refused("catalog:no.where", "catalog:no.where: ")
    assert_refused(root, f"{root}: only Spark reads and writes a catalog; use --engine spark", "--engine", "local")
    assert_refused("catalog:a..b", "catalog:a..b: expected catalog:SCHEMA or catalog:CATALOG.SCHEMA")
    assert_refused("tables", "tables: iceberg tables need a catalog, catalog:CATALOG.SCHEMA", "--format", "iceberg")
    spark.sql(f"DROP TABLE {schema}.`partition`")
    assert_refused(root, f"{root}: no table partition")
    assert "violation" not in schemas.in_schema(spark, schema)


def test_a_format_that_the_session_does_not_have_is_one_line(spark: SparkSession, schema: str, tmp_path: Path) -> None:
    spark.sql(f"CREATE SCHEMA {schema}")
    (tmp_path / "map.json").write_text(
        '{"version": 1, "partitions": [{"topic": "t", "partition": 0, "replicas": [1]}]}'
    )
    given = ("--cluster", "c", "--snapshot", "1", "--map", tmp_path / "map.json", "--engine", "spark")
    for root, kind in ((f"catalog:{schema}", "iceberg"), (f"catalog:{schema}", "delta"), (tmp_path / "d", "delta")):
        code, out, err = kedge_plan("collect", root, "--format", kind, *given)
        assert (code, out, err.count("\n")) == (2, "", 1), err
        assert err.startswith(f"kedge: {root}: table ")
        assert kind in err
    assert schemas.in_schema(spark, schema) == {}
    assert not (tmp_path / "d").exists()


def assert_refused(root: str, said: str, *options: str) -> None:
    code, out, err = kedge_plan("validate", root, "--engine", "spark", *options)
    assert (code, out, err.count("\n")) == (2, "", 1), err
    assert err.startswith(f"kedge: {said}")


def test_a_plan_that_is_not_written_to_its_end_is_none_and_written_by_the_next_run(
    spark: SparkSession, schema: str
) -> None:
    """Of two tables the second cannot be written: what says that there is a plan is gone, and comes back whole."""
    schemas.fill(spark, schema, fleets.generated(1))
    line = ("balance-leaders", f"catalog:{schema}", "--engine", "spark", "--json")
    assert kedge_plan(*line)[0] == 0
    whole = schemas.in_schema(spark, schema)
    warehouse = str(spark.conf.get("spark.sql.warehouse.dir")).removeprefix("file:")
    folder = Path(warehouse, f"{schema}.db", "plan_move")
    shutil.rmtree(folder / "cluster=g0")
    (folder / "cluster=g0").write_bytes(b"")
    code, out, err = kedge_plan(*line)
    assert (code, out, err.count("\n")) == (2, "", 1), err
    assert schemas.rows_of(spark, f"{schema}.plan", "plan") == {}
    (folder / "cluster=g0").unlink()
    assert kedge_plan(*line)[0] == 0
    assert schemas.in_schema(spark, schema) == whole


def test_each_snapshot_is_worked_on_once(spark: SparkSession, schema: str, tmp_path: Path) -> None:
    """However many tables are written of it."""
    from kedge.pipeline.spark.catalog import Catalog  # noqa: PLC0415 - needs Spark
    from kedge.pipeline.spark.groups import results  # noqa: PLC0415

    @attrs.frozen
    class Counted(Plan):
        folder: Path = tmp_path

        def run(self, place: Place, given: Any, told: Any) -> Any:
            with (self.folder / place.cluster).open("a") as file:
                file.write("once")
            return Plan(self.name, self.request, self.limits).run(place, given, told)

    schemas.fill(spark, schema, fleets.generated(3))
    root = Location(f"catalog:{schema}")
    places = [attrs.evolve(Place(tmp_path, f"g{i}", SNAPSHOT), root=root) for i in range(3)]
    found = results(Catalog(spark, root), Counted("p", Leaders(), Limits()), places)
    assert [said.code for _, said in found if isinstance(said, Said)] == [0, 0, 0]
    assert {file.name: file.read_text() for file in tmp_path.iterdir()} == dict.fromkeys(("g0", "g1", "g2"), "once")


@attrs.frozen
class LastRun:
    """A verb that says which run is the last one of the cluster."""

    title: str = ""
    wanted: tuple[Wanted, ...] = (Wanted(RUN, optional=True, last=True),)

    def run(self, _: Place, given: Any, __: Any) -> Said:
        return Said({"last": given["run"]["row"].to_pylist()}, ())


def test_last_snapshot_without_a_time_is_chosen_as_in_files(spark: SparkSession, schema: str) -> None:
    from kedge.pipeline.spark.catalog import Catalog  # noqa: PLC0415 - needs Spark
    from kedge.pipeline.spark.groups import results  # noqa: PLC0415

    spark.sql(f"CREATE SCHEMA {schema}")
    columns = ", ".join(f"{name} {kind}" for name, kind, _ in RUN.columns)
    rows = [("c", name, "", "", f"of {name}", 0) for name in ("9", "10")]
    runs = spark.createDataFrame(rows, f"cluster string, snapshot string, {columns}")
    runs.write.partitionBy("cluster", "snapshot").saveAsTable(f"{schema}.run")
    root = Location(f"catalog:{schema}")
    ((_, said),) = results(Catalog(spark, root), LastRun(), [Place(root, "c", "11")])
    assert isinstance(said, Said)
    assert said.row == {"last": ["of 10"]}
