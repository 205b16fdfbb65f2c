"""Both engines say the same, to the byte, of a fleet in one job."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kedge.pipeline.collect.landing import Landing
from kedge.pipeline.errors import EngineFailed, PipelineError
from kedge.pipeline.policy import Fleet, Policy
from kedge.pipeline.stages.arrays import Limits
from kedge.pipeline.stages.requests import Add, Drain, Leaders
from kedge.pipeline.stages.waves import WaveSettings
from kedge.pipeline.tables.declared import PARTITION, REJECTED_ROWS, REPLICA_LOAD, VIOLATION, WAVE_MOVE
from kedge.pipeline.tables.files import PART, Place
from kedge.pipeline.tables.location import Location
from kedge.pipeline.tables.schema import Table
from kedge.pipeline.verbs.check import Check
from kedge.pipeline.verbs.collect import Collect
from kedge.pipeline.verbs.compare import Compare
from kedge.pipeline.verbs.empty import IsEmpty
from kedge.pipeline.verbs.export import Export
from kedge.pipeline.verbs.forget import Forget
from kedge.pipeline.verbs.load import Load
from kedge.pipeline.verbs.local import results
from kedge.pipeline.verbs.plan import Plan
from kedge.pipeline.verbs.run import Run
from kedge.pipeline.verbs.show import Show
from kedge.pipeline.verbs.verb import Output, Said, Verb, unheard
from kedge.pipeline.verbs.waves import Waves
from tests.pipeline_spark import fleets
from tests.pipeline_spark.fleets import SNAPSHOT

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.server


def run(spark: SparkSession | None, verb: Verb, places: list[Place]) -> dict[str, Any]:
    """What is said of each cluster: in one job of Spark, or in this process."""
    if spark is None:
        found = list(results(verb, places, unheard, processes=1))
    else:
        from kedge.pipeline.spark.verbs import results as on_spark  # noqa: PLC0415 - needs Spark

        found = list(on_spark(spark, verb, places))
    return {place.cluster: told(said) for place, said in found}


def told(said: Said | PipelineError) -> Any:
    """To compare by: what is printed, or the kind of error and what it says."""
    if isinstance(said, PipelineError):
        return type(said), str(said)
    return json.dumps(said.row, default=str), [tuple(line) for line in said.lines], said.code


def files(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@attrs.frozen
class Both:
    """The same fleet twice: one for Spark, one for this process."""

    spark: SparkSession
    there: Path
    here: Path
    clusters: tuple[str, ...]

    def same(self, verb: Callable[[Path], Verb]) -> dict[str, Any]:
        """What `verb`, made for a folder beside the tables, says and writes on both. The same, or the test fails."""
        wanted = run(None, verb(self.here), [Place(self.here / "tables", c, SNAPSHOT) for c in self.clusters])
        found = run(self.spark, verb(self.there), [Place(self.there / "tables", c, SNAPSHOT) for c in self.clusters])
        assert repr(found).replace(str(self.there), "") == repr(wanted).replace(str(self.here), "")
        assert files(self.there) == files(self.here)
        return wanted

    def tables(self, table: Table, name: str = PART) -> list[dict[str, Any]]:
        """The rows of a table, of all clusters that have it."""
        places = [Place(self.here / "tables", c, SNAPSHOT) for c in self.clusters]
        return [row for place in places if place.has(table, name) for row in place.read(table, name).to_pylist()]


@pytest.fixture
def both(spark: SparkSession, tmp_path: Path) -> Callable[[dict[str, Any]], Both]:
    def made(fleet: dict[str, Any]) -> Both:
        for side in ("there", "here"):
            fleets.write(tmp_path / side / "tables", fleet)
        return Both(spark, tmp_path / "there", tmp_path / "here", tuple(sorted(fleet)))

    return made


@pytest.mark.slow
def test_bad_rows_are_rejected_alike_and_loads_are_the_same_to_the_byte(both: Callable[[Any], Both]) -> None:
    fleet = both(fleets.collected())
    said = fleet.same(lambda _: Load())
    assert [one[2] for one in said.values()] == [1, 0]
    assert len({row["reason"] for row in fleet.tables(REJECTED_ROWS)}) >= 12
    assert {row["basis"] for row in fleet.tables(REPLICA_LOAD)} == {"measured", "split", "size_only"}
    fleet.same(lambda _: Check(Limits(), factor=4, ignore_racks=True))
    assert {row["kind"] for row in fleet.tables(VIOLATION)} >= {"RF", "DEAD", "DUP"}


@pytest.mark.slow
def test_plans_waves_and_exports_of_a_fleet_are_the_same_to_the_byte(both: Callable[[Any], Both]) -> None:
    """All clusters are planned in one job; those that cannot be are refused alike, and harm no other."""
    planned = both(fleets.planned())

    def plan(folder: Path) -> Verb:
        plans, pages = (Output(folder / suffix, suffix, by_cluster=True) for suffix in ("json", "html"))
        return Plan("p", Drain(), Limits(), plans=plans, pages=pages)

    said = planned.same(plan)
    assert [cluster for cluster, one in said.items() if isinstance(one[0], type)] == ["mixed", "none"]
    planned.same(lambda _: Plan("added", Add(((901, "r1"),), tolerance=0.05), Limits()))
    planned.same(lambda _: Waves("p", WaveSettings(per_broker=2, throttle_bps=1e6), named=True))
    planned.same(lambda _: Compare(("p", "other")))
    planned.same(lambda _: Compare(None))
    planned.same(lambda _: Show("p", 3))
    planned.same(lambda _: IsEmpty((), "p"))
    planned.same(lambda folder: Export("p", folder / "out", several=True))
    assert any(path.endswith("rollback/wave-0001.json") for path in files(planned.here / "out"))
    assert planned.tables(WAVE_MOVE, "p")
    planned.same(lambda _: Forget())
    assert {path for path in files(planned.here) if path.startswith("tables/")} == set()


@pytest.mark.full
def test_a_policy_is_run_on_a_fleet_to_the_same(both: Callable[[Any], Both]) -> None:
    run, steps = both(fleets.planned()), ("drain", "rebalance")

    def policy(folder: Path) -> Verb:
        own = {"east": Policy(steps=steps, window=3600)}
        return Run(Fleet(Location(str(folder / "tables")), folder / "out", Policy(steps=steps), own))

    run.same(policy)
    again = run.same(policy)
    assert [json.loads(one[0])["unchanged"] for one in again.values() if not isinstance(one[0], type)] == [True] * 3


@pytest.mark.full
def test_files_of_many_clusters_are_collected_to_the_same(both: Callable[[Any], Both], tmp_path: Path) -> None:
    """One whose files cannot be used among them."""
    for number in range(12):
        rows = [{"topic": "t", "partition": i, "replicas": [number, number + 1]} for i in range(number + 1)]
        folder = tmp_path / "in" / f"c{number:02d}" / SNAPSHOT
        folder.mkdir(parents=True)
        text = json.dumps({"version": 1, "partitions": rows})
        (folder / "map.json").write_text(text[: -(number == 7) or None])
    landing = Landing(f"{tmp_path}/in/{{cluster}}/{{snapshot}}")
    collected = attrs.evolve(both({}), clusters=tuple(cluster for cluster, _ in landing.find()[0]))
    said = collected.same(lambda _: Collect(landing))
    assert len(said) == 12
    assert len({row["partition"] for row in collected.tables(PARTITION)}) == 12
    assert sum("not a whole JSON file" in repr(one) for one in said.values()) == 1


@pytest.mark.full
def test_a_file_that_is_no_such_table_is_of_its_cluster_alone(both: Callable[[Any], Both]) -> None:
    """No file, a column missing, one of another type, a null where none may be, no Parquet, one that breaks off within:
    each is reported, and the sound one is planned."""
    fleet = both({f"c{i}": fleets.generated(1)["g0"] for i in range(7)})
    for side in (fleet.there, fleet.here):
        paths = [Place(side / "tables", cluster, SNAPSHOT).path(PARTITION) for cluster in fleet.clusters]
        missing, short, other, null, torn, hollow, _ = paths
        table, whole = pq.read_table(short, partitioning=None), hollow.read_bytes()
        missing.unlink()
        pq.write_table(table.drop_columns(["isr"]), short)
        pq.write_table(table.set_column(1, "partition", table.column("partition").cast(pa.string())), other)
        topics = pa.array([None, *table.column("topic").to_pylist()[1:]])
        pq.write_table(table.set_column(0, "topic", topics), null)
        torn.write_bytes(whole[:-7])
        footer = len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")
        hollow.write_bytes(whole[:4] + bytes(footer - 4) + whole[footer:])
    said = fleet.same(lambda _: Plan("p", Leaders(), Limits()))
    assert [cluster for cluster, one in said.items() if isinstance(one[0], type)] == ["c0", "c1", "c3", "c4", "c5"]
    assert "column topic is null in 1 row" in said["c3"][1]
    assert said["c2"][1:] == said["c6"][1:] or "c2" in said["c2"][0], "numbers as text are taken"


@pytest.mark.full
def test_unwritable_file_is_reported_with_its_name(both: Callable[[Any], Both]) -> None:
    """On Spark it is one cluster's, since the others may lie elsewhere."""
    fleet = both({cluster: fleets.generated(1)["g0"] for cluster in ("bad", "good")})
    (fleet.there / "tables/plan_move/cluster=bad").mkdir(parents=True)
    (fleet.there / "tables/plan_move/cluster=bad/snapshot=1").write_bytes(b"")
    places = [Place(fleet.there / "tables", cluster, SNAPSHOT) for cluster in fleet.clusters]
    said = run(fleet.spark, Plan("p", Leaders(), Limits()), places)
    assert said["bad"][0] is EngineFailed
    assert "tables/plan_move/cluster=bad/snapshot=1" in said["bad"][1]
    assert said["good"][2] == 0


@pytest.mark.full
def test_a_fleet_is_worked_on_by_several_processes_as_by_one(tmp_path: Path) -> None:
    places = fleets.write(tmp_path, fleets.generated(4))
    verb = Check(Limits())
    alone = [(place, told(said)) for place, said in results(verb, places, unheard, processes=1)]
    assert [(place, told(said)) for place, said in results(verb, places, unheard, processes=2)] == alone
