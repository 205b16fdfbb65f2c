"""Both engines say the same, to the byte: fleets of strange, published and generated clusters, each in one job."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.errors import BadInput, EngineFailed, NotFound, PipelineError
from pipeline.stages.check import check
from pipeline.stages.export import export, plan_json
from pipeline.stages.load import load
from pipeline.stages.plan import plan
from pipeline.stages.requests import (
    Add,
    Drain,
    FixRacks,
    Leaders,
    Rebalance,
    ReducePartitions,
    Request,
    SetFactor,
)
from pipeline.stages.validate import validate
from pipeline.stages.waves import WaveSettings, waves
from pipeline.tables.arrow import Arrow, empty
from pipeline.tables.declared import (
    BROKER,
    PARTITION,
    PLAN_MOVE,
    PLAN_REASON,
    QUARANTINE,
    REPLICA_LOAD,
    TABLES,
    VIOLATION,
    WAVE_MOVE,
)
from pipeline.tables.files import Place, Wanted
from tests.pipeline_spark import fleets

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.slow, pytest.mark.server]

REQUESTS: dict[str, Request] = {
    "drain": Drain(),
    "add": Add(((901, "r1"), (902, "r2")), tolerance=0.05),
    "rebalance": Rebalance(tolerance=0.02, bytes_max=10**12),
    "fix-racks": FixRacks(),
    "set-rf": SetFactor(2),
    "leaders": Leaders(),
    "reduce-partitions": ReducePartitions(10**9, 10**6),
}
SNAPSHOT = [Wanted(table) for table in (BROKER, PARTITION, REPLICA_LOAD)]


@pytest.fixture(scope="module")
def collected() -> dict[str, dict[str, Arrow]]:
    return {f"s{seed:02d}": fleets.strange(seed, bad=seed % 2 == 1) for seed in range(24)}


@pytest.fixture(scope="module")
def fleet(collected: dict[str, Any], shared_data: Path) -> dict[str, dict[str, Arrow]]:
    """Loaded clusters; of the strange ones some have brokers with a rack and some without, or nobody to drain."""
    strange = {cluster: fleets.silver(tables) for cluster, tables in collected.items()}
    return {**strange, **fleets.published(shared_data), **fleets.generated(4)}


@pytest.fixture(scope="module")
def places(fleet: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> list[Place]:
    return fleets.write(tmp_path_factory.mktemp("fleet"), fleet)


def attempt(work: Any, *args: Any, **more: Any) -> dict[str, Arrow] | PipelineError:
    """What it gives, or what it raises."""
    try:
        found: dict[str, Arrow] = work(*args, **more)
    except PipelineError as error:
        return error
    return found


def content(found: Any) -> Any:
    """To compare by: rows and types, or the kind of error and what it says."""
    if isinstance(found, PipelineError):
        return type(found), str(found)
    return {
        name: (str(rows.cast(_schema(name, rows)).schema), rows.to_pylist()) for name, rows in sorted(found.items())
    }


def _schema(name: str, rows: Arrow) -> Any:
    return empty(TABLES[name]).schema if name in TABLES else rows.schema


def by_cluster(found: dict[tuple[str, str], Any]) -> dict[str, Any]:
    return {key[0]: content(tables) for key, tables in found.items()}


def parquet(root: Path, found: dict[str, Arrow]) -> dict[str, bytes]:
    """Tables as the bytes of their files."""
    place = Place(root, "c", "s")
    return {name: place.write(TABLES[name], rows).read_bytes() for name, rows in found.items()}


def files(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_bad_rows_are_quarantined_alike_and_loads_are_the_same_to_the_byte(
    spark: SparkSession, collected: dict[str, dict[str, Arrow]], tmp_path: Path
) -> None:
    """Raw tables of a fleet, validated in one job, loaded in native functions and written by the workers."""
    from pipeline.spark.frames import read, write  # noqa: PLC0415 - needs Spark
    from pipeline.spark.load import load as load_on_spark  # noqa: PLC0415
    from pipeline.spark.packed import results, unpacked  # noqa: PLC0415
    from pipeline.spark.plan import COLLECTED  # noqa: PLC0415
    from pipeline.spark.plan import validate as validate_on_spark  # noqa: PLC0415

    raw = fleets.write(tmp_path / "raw", collected)
    packs = validate_on_spark(read(spark, raw, [Wanted(t, optional=True) for t in COLLECTED], numbered=True)).persist()
    wanted = {place.cluster: validate(collected[place.cluster]) for place in raw}
    assert {key[0]: content(found) for key, found in results(packs).items()} == {
        c: content(t) for c, t in wanted.items()
    }
    reasons = {row["reason"] for tables in wanted.values() for row in tables[QUARANTINE.name].to_pylist()}
    assert len(reasons) >= 12

    write({table.name: unpacked(packs, table) for table in COLLECTED}, tmp_path / "spark")
    packs.unpersist()
    silver = fleets.write(tmp_path / "local", wanted)
    there = {path: data for path, data in files(tmp_path / "spark").items() if path in files(tmp_path / "local")}
    assert there == files(tmp_path / "local")

    frames = read(spark, silver, [Wanted(table, optional=True) for table in COLLECTED])
    write(load_on_spark(frames), tmp_path / "spark loads")
    fleets.write(tmp_path / "loads", {cluster: load(tables) for cluster, tables in wanted.items()})
    assert files(tmp_path / "spark loads") == files(tmp_path / "loads")
    bases = {row["basis"] for tables in wanted.values() for row in load(tables)[REPLICA_LOAD.name].to_pylist()}
    assert bases == {"measured", "split", "size_only"}


@pytest.mark.parametrize("settings", [{}, {"factor": 3, "ignore_racks": True}], ids=["plain", "factor"])
def test_both_engines_find_the_same_violations(
    spark: SparkSession, fleet: dict[str, dict[str, Arrow]], places: list[Place], settings: dict[str, Any]
) -> None:
    """Every kind of them occurs, and so do clusters that cannot be judged."""
    from pipeline.spark.check import check as check_on_spark  # noqa: PLC0415
    from pipeline.spark.check import violations  # noqa: PLC0415
    from pipeline.spark.frames import read  # noqa: PLC0415

    wanted = [*SNAPSHOT, Wanted(QUARANTINE, optional=True)]
    found = violations(check_on_spark(read(spark, places, wanted, numbered=True), **settings))
    kinds, refused = set(), 0
    for place in places:
        here = attempt(lambda c: {VIOLATION.name: check(fleet[c], **settings)}, place.cluster)
        there: Any = found.get((place.cluster, place.snapshot), empty(VIOLATION))
        there = there if isinstance(there, PipelineError) else {VIOLATION.name: there}
        assert content(there) == content(here), place.cluster
        refused += isinstance(here, PipelineError)
        kinds |= set() if isinstance(here, PipelineError) else set(here[VIOLATION.name].column("kind").to_pylist())
    assert kinds >= {"RF", "DEAD", "DUP", "ISR", "LEADER_ORDER", "CAP_DISK", "CAP_IN", "CAP_OUT"}
    assert settings or "RACK" in kinds


@pytest.mark.parametrize("kind", REQUESTS)
def test_plans_waves_and_exports_of_a_fleet_are_the_same_to_the_byte(
    kind: str, spark: SparkSession, fleet: dict[str, dict[str, Arrow]], places: list[Place], tmp_path: Path
) -> None:
    """All clusters are planned in one job; those that cannot be are refused alike, and harm no other."""
    from pipeline.spark.frames import read, read_files  # noqa: PLC0415
    from pipeline.spark.packed import results, unpacked  # noqa: PLC0415
    from pipeline.spark.plan import plan as plan_on_spark  # noqa: PLC0415
    from pipeline.spark.plan import waves as waves_on_spark  # noqa: PLC0415

    packs = plan_on_spark(read_files(spark, places, SNAPSHOT), REQUESTS[kind], name="p").persist()
    there: dict[str, Any] = {key[0]: found for key, found in results(packs).items()}
    here = {place.cluster: attempt(plan, fleet[place.cluster], REQUESTS[kind], name="p") for place in places}
    assert {c: content(found) for c, found in there.items()} == {c: content(found) for c, found in here.items()}
    done = {cluster: found for cluster, found in here.items() if not isinstance(found, PipelineError)}
    assert len(done) >= 10, "too many were refused"
    moving = {cluster: found for cluster, found in done.items() if found[PLAN_MOVE.name].num_rows}
    assert moving or kind == "reduce-partitions"

    settings = WaveSettings(per_broker=2, throttle_bps=1e6)
    sound = packs.where(~packs.cluster.isin(*(here.keys() - done.keys()), ""))
    of_plan = {PLAN_MOVE.name: unpacked(sound, PLAN_MOVE)}
    snapshot = read(spark, [place for place in places if place.cluster in moving], SNAPSHOT)
    cut: dict[str, Any] = {
        key[0]: found for key, found in results(waves_on_spark({**snapshot, **of_plan}, "p", settings)).items()
    }
    packs.unpersist()
    for cluster, found in moving.items():
        pieces = attempt(waves, {**fleet[cluster], **found}, "p", settings)
        assert content(cut[cluster]) == content(pieces), cluster
        if isinstance(pieces, PipelineError):
            continue
        theirs: Any = (there[cluster], cut[cluster])
        assert plan_json(there[cluster][PLAN_MOVE.name]) == plan_json(found[PLAN_MOVE.name])
        assert parquet(tmp_path / "a", theirs[0] | theirs[1]) == parquet(tmp_path / "b", found | pieces)
        for folder, (planned, waved) in (("here", (found, pieces)), ("there", theirs)):
            rest = {name: rows for name, rows in waved.items() if name != PLAN_REASON.name}
            export({**planned, **rest}, tmp_path / folder / cluster, cluster=cluster, snapshot="1")
    assert files(tmp_path / "there") == files(tmp_path / "here")
    if moving and kind != "leaders":
        assert any(path.endswith("rollback/wave-0001.json") for path in files(tmp_path / "here"))
        assert any(cut[cluster][WAVE_MOVE.name].num_rows for cluster in moving)


def test_a_file_that_is_no_such_table_is_refused_as_the_local_engine_refuses_it(
    spark: SparkSession, tmp_path: Path
) -> None:
    """No file, a column missing, one of another type, no Parquet: of its cluster alone, and the sound one is read."""
    from pipeline.spark.frames import read, read_files  # noqa: PLC0415
    from pipeline.spark.packed import results  # noqa: PLC0415
    from pipeline.spark.plan import plan as plan_on_spark  # noqa: PLC0415

    places = fleets.write(tmp_path, {f"c{i}": fleets.generated(1)["g0"] for i in range(5)})
    missing, short, other, torn, _ = (place.path(PARTITION) for place in places)
    table = pq.read_table(short, partitioning=None)
    missing.unlink()
    pq.write_table(table.drop_columns(["isr"]), short)
    pq.write_table(table.set_column(1, "partition", table.column("partition").cast(pa.string())), other)
    torn.write_bytes(torn.read_bytes()[:-7])
    refused: dict[Place, PipelineError] = {}
    frames = read(spark, places, SNAPSHOT, refused=refused)
    assert [place.cluster for place in refused] == ["c0", "c1", "c2", "c3"]
    for place, error in refused.items():
        assert place.cluster == "c2" or isinstance(attempt(place.read, PARTITION), type(error))
        assert str(place.path(PARTITION)) in str(error)
    assert frames["partition"].count() == table.num_rows
    with pytest.raises(NotFound):
        read(spark, places, SNAPSHOT)
    refused.clear()
    found = results(plan_on_spark(read_files(spark, places, SNAPSHOT, refused=refused), Leaders(), name="p"))
    assert [place.cluster for place in refused] == ["c0", "c1", "c3"]
    assert content(found["c2", "1"]) == content(found["c4", "1"]), "numbers as text are taken, here as there"


def test_a_null_where_none_may_be_and_a_file_that_breaks_off_are_errors_that_say_where(
    spark: SparkSession, tmp_path: Path
) -> None:
    """They are told of their cluster, and the other is planned; in native functions the job ends."""
    from pipeline.spark.check import check as check_on_spark  # noqa: PLC0415
    from pipeline.spark.check import violations  # noqa: PLC0415
    from pipeline.spark.frames import read, read_files  # noqa: PLC0415
    from pipeline.spark.packed import results  # noqa: PLC0415
    from pipeline.spark.plan import plan as plan_on_spark  # noqa: PLC0415

    places = fleets.write(tmp_path, {cluster: fleets.generated(1)["g0"] for cluster in ("bad", "good")})
    path = places[0].path(PARTITION)
    whole = path.read_bytes()
    table = pq.read_table(path, partitioning=None)
    leaders = pa.array([None, *table.column("leader").to_pylist()[1:]], pa.int32())
    pq.write_table(table.set_column(4, "leader", leaders), path)
    wanted = content(plan(fleets.generated(1)["g0"], Leaders(), name="p"))
    for frames in (read(spark, places, SNAPSHOT), read_files(spark, places, SNAPSHOT)):
        found = results(plan_on_spark(frames, Leaders(), name="p"))
        assert "column leader is null in 1 rows" in str(found["bad", "1"])
        assert content(found["good", "1"]) == wanted

    footer = len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")
    path.write_bytes(whole[:4] + bytes(footer - 4) + whole[footer:])
    found = results(plan_on_spark(read_files(spark, places, SNAPSHOT), Leaders(), name="p"))
    assert isinstance(found["bad", "1"], BadInput)
    assert content(found["good", "1"]) == wanted
    with pytest.raises(EngineFailed, match="Spark"):
        violations(check_on_spark(read(spark, places, SNAPSHOT)))
