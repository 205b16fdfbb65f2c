"""Samples of replicas that Spark reduces by column functions alone: the tables of the local engine, to the bit."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kedge.pipeline import local
from kedge.pipeline.stages.windows import STATISTICS
from kedge.pipeline.tables.arrow import Arrow, from_rows
from kedge.pipeline.tables.declared import REPLICA_SAMPLE, SNAPSHOT_TIME, TABLES
from tests.pipeline.test_samples import CLUSTER, NOW, a_history, every, sample

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [pytest.mark.server, pytest.mark.slow]
SEEDS = range(8)
WINDOW_S = 600
TIME = from_rows(SNAPSHOT_TIME, [(NOW,)])
GIVEN = {
    str(seed): {**CLUSTER, "snapshot_time": TIME, "replica_sample": from_rows(REPLICA_SAMPLE, a_history(seed))}
    for seed in SEEDS
}
MADE = ("replica_load", "broker_load", "rejected_rows")


def frames(spark: SparkSession, given: dict[str, dict[str, Arrow]]) -> dict[str, DataFrame]:
    """A cluster for each."""
    found = {}
    for name in {name for tables in given.values() for name in tables}:
        columns = ", ".join(f"{column} {kind}" for column, kind, _ in TABLES[name].columns)
        rows = [(key, "1", *row.values()) for key, tables in given.items() for row in tables[name].to_pylist()]
        found[name] = spark.createDataFrame(rows, f"cluster string, snapshot string, {columns}")
    return found


def rows_of(frame: DataFrame) -> dict[str, list[str]]:
    """By cluster, as texts that can be compared."""
    found: dict[str, list[str]] = {}
    for row in frame.collect():
        values = row.asDict()
        found.setdefault(values.pop("cluster"), []).append(repr({**values, "snapshot": None}))
    return {cluster: sorted(rows) for cluster, rows in found.items()}


def wanted(given: dict[str, dict[str, Arrow]], name: str, **settings: Any) -> dict[str, list[str]]:
    made = {key: local.compute_load(local.validate(tables), **settings)[name] for key, tables in given.items()}
    return {
        key: sorted(repr({"snapshot": None, **row}) for row in table.to_pylist())
        for key, table in made.items()
        if table.num_rows
    }


@pytest.mark.parametrize("statistic", STATISTICS)
def test_loads_by_samples_are_those_of_the_local_engine(spark: SparkSession, statistic: str) -> None:
    from kedge.pipeline import spark as kp  # noqa: PLC0415 - needs Spark

    settings: dict[str, Any] = {"window_s": WINDOW_S, "statistic": statistic, "growth": 1.5}
    found = kp.persist(kp.compute_load(kp.validate(frames(spark, GIVEN)), **settings))
    for name in MADE:
        assert rows_of(found[name]) == wanted(GIVEN, name, **settings), name
    found.unpersist()


def test_no_sample_reaches_a_python_worker(spark: SparkSession, capsys: pytest.CaptureFixture[str]) -> None:
    """Validated or loaded: they are aggregated by window and by replica before, and read from the tables given."""
    from kedge.pipeline import spark as kp  # noqa: PLC0415

    silver = kp.validate(frames(spark, GIVEN))
    silver["replica_sample"].explain()
    assert "InArrow" not in capsys.readouterr().out
    kp.compute_load(silver)["replica_load"].explain()
    plan = capsys.readouterr().out
    assert plan.count("MapInArrow") == 1
    below = plan[plan.index("MapInArrow") :]
    assert "Aggregate" in below
    assert "reason" in below


def test_loads_of_other_settings_leave_earlier_plans_as_they_are(spark: SparkSession) -> None:
    """Also of tables that were persisted in between."""
    from kedge.pipeline import spark as kp  # noqa: PLC0415

    one = {"0": GIVEN["0"]}
    for is_persisted in (False, True):
        valid = kp.validate(frames(spark, one))
        silver = kp.compute_load(kp.persist(valid) if is_persisted else valid, statistic="max")
        again = kp.compute_load(kp.drain(silver, brokers=[1], ignore_racks=True))
        planned = local.drain(
            local.compute_load(local.validate(one["0"]), statistic="max"), brokers=[1], ignore_racks=True
        )
        moves = again["plan_move"].select("topic", "partition", "write_bps").collect()
        listed = planned["plan_move"].select(["topic", "partition", "write_bps"]).to_pylist()
        assert [row.asDict() for row in moves] == listed != []
        assert rows_of(again["replica_load"]) == wanted(one, "replica_load")


def test_samples_in_files_give_the_same_and_are_left_as_they_are(spark: SparkSession, tmp_path: Path) -> None:
    """Read by workers; also of tables that were persisted, whose samples Spark reduces."""
    from kedge.pipeline import spark as kp  # noqa: PLC0415

    given = {key: GIVEN[key] for key in ("0", "1")}
    kp.write(frames(spark, given), str(tmp_path))
    before = {path: path.read_bytes() for path in tmp_path.rglob("*.parquet")}
    raw = kp.read(spark, str(tmp_path))
    assert raw["replica_sample"].count() == sum(tables["replica_sample"].num_rows for tables in given.values())
    for tables in (raw, kp.persist(raw)):
        found = kp.compute_load(kp.validate(tables), statistic="p95")
        assert rows_of(found["replica_load"]) == wanted(given, "replica_load", statistic="p95")
        kp.write(found, str(tmp_path))
    assert {path: path.read_bytes() for path in before} == before
    kp.write(raw, str(tmp_path / "copy"))
    assert (
        local.read(tmp_path / "copy", cluster="0")["replica_sample"].num_rows == GIVEN["0"]["replica_sample"].num_rows
    )


def test_samples_of_other_types_and_without_keys_or_a_time(spark: SparkSession) -> None:
    """A time without a zone is UTC, as for the local engine."""
    from kedge.pipeline import spark as kp  # noqa: PLC0415

    given = {name: frame.drop("cluster", "snapshot") for name, frame in frames(spark, {"0": CLUSTER}).items()}
    samples = spark.sql(
        "SELECT ts, 't' AS topic, CAST(0 AS bigint) AS partition, CAST(2.5 AS decimal(9, 2)) AS in_bps, 1 AS more "
        "FROM VALUES (TIMESTAMP_NTZ'2026-11-21 00:00:00'), (TIMESTAMP_NTZ'2026-11-24 00:00:00') AS given(ts)"
    )
    tables = {**given, "replica_sample": samples}
    found = kp.compute_load(kp.validate(tables), taken_at=NOW)
    assert [row["write_bps"] for row in found["replica_load"].orderBy("partition").collect()] == [2.5, *[None] * 5]
    assert [row["raw"] for row in found["rejected_rows"].collect()] == [
        '{"partition": 0, "samples": 1, "topic": "t", "ts": "2026-11-24T00:00:00Z"}'
    ]
    nulls = samples.selectExpr("CAST(NULL AS timestamp) AS ts", "topic", "partition")
    with pytest.raises(Exception, match="replica_sample: column ts is null in 2 rows"):
        kp.compute_load(kp.validate({**tables, "replica_sample": nulls}))["replica_load"].collect()


def test_a_thousand_samples_of_a_replica_become_one_row(spark: SparkSession) -> None:
    from kedge.pipeline.spark.samples import reduced  # noqa: PLC0415
    from kedge.pipeline.stages.usable import LoadSettings  # noqa: PLC0415

    rows = [*every(60, 1000), sample(NOW, 1, 0, -1.0)]
    given = frames(spark, {"0": {"replica_sample": from_rows(REPLICA_SAMPLE, rows), "snapshot_time": TIME}})
    found = reduced(given["replica_sample"], given["snapshot_time"], LoadSettings(), ("cluster", "snapshot"))
    assert sorted((row["reason"] or "", row["samples"], row["windows"]) for row in found.collect()) == [
        ("", 1000, 201),
        ("in_bps is negative or not a number", 1, 0),
    ]
