"""The stages as functions on DataFrames: the tables of the local engine, and nothing before an action."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from kedge.pipeline import WaveSettings, local
from kedge.pipeline.errors import BadInput
from tests.pipeline_spark import fleets
from tests.pipeline_spark.fleets import SNAPSHOT

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.server

KEYS = ("cluster", "snapshot")
SETTINGS = WaveSettings(throttle_bps=1e6)


def planned(kp: Any, given: Mapping[str, Any]) -> Mapping[str, Any]:
    """By the functions of either engine."""
    silver = kp.compute_load(kp.validate(given))
    return kp.waves(kp.drain(kp.check(silver, ignore_racks=True), ignore_racks=True), SETTINGS)  # type: ignore[no-any-return]


def rows_of(frame: Any, cluster: str) -> list[str]:
    return texts(row.asDict(recursive=True) for row in frame.where(f"cluster = '{cluster}'").collect())


def texts(rows: Iterable[dict[str, Any]]) -> list[str]:
    """To compare by: without keys, and with values that Spark returns otherwise in one form."""
    same: dict[str, Callable[[Any], object]] = {
        "settings": lambda value: sorted(dict(value).items()),
        **dict.fromkeys(("ts", "taken_at"), lambda value: value.replace(tzinfo=None)),
    }
    return sorted(
        repr({name: same.get(name, repr)(value) for name, value in row.items() if name not in KEYS}) for row in rows
    )


def test_a_fleet_in_frames_gives_the_tables_of_the_local_engine(spark: SparkSession, tmp_path: Path) -> None:
    """By workers, which also write them where the commands read them."""
    from kedge.pipeline import spark as kp  # noqa: PLC0415 - needs Spark

    fleet = {name: {t: tables[t] for t in ("broker", "partition")} for name, tables in fleets.planned().items()}
    fleet |= {"a=b c": fleet["east"], "007": fleets.collected()["bad"]}
    for cluster, tables in fleet.items():
        local.write(tables, tmp_path, cluster=cluster, snapshot=SNAPSHOT)
    raw = kp.read(spark, str(tmp_path))
    given_names = {*raw}
    found = kp.persist(planned(kp, raw))
    kp.write(found, str(tmp_path))
    for cluster, tables in fleet.items():
        expected = planned(local, tables)
        made = expected.keys() - given_names | {"partition_valid"}
        there = local.read(tmp_path, made, cluster=cluster, plan="drain")
        for name, table in expected.items():
            assert rows_of(found[name], cluster) == texts(table.to_pylist()), (cluster, name)
            assert name not in there or there[name].equals(table), (cluster, name)
    found.unpersist()


def test_frames_of_one_snapshot_need_no_keys_and_may_have_other_types(spark: SparkSession) -> None:
    from kedge.pipeline import spark as kp  # noqa: PLC0415

    brokers = spark.createDataFrame(
        [(n, "ALIVE", "x") for n in (1, 2, 3)], "broker_id bigint, state string, team string"
    )
    partitions = spark.createDataFrame(
        [("t", 0, [1, 2], [1, 2], None), ("t", 1, [3, 2, 3], [3], 3)],
        "topic string, partition bigint, replicas array<bigint>, isr array<bigint>, leader bigint",
    )
    raw = kp.persist({"broker": brokers, "partition": partitions})
    found = kp.drain(kp.compute_load(kp.validate(raw)), brokers=[2, 3])
    moved = found["plan_move"].select("partition", "leader").collect()
    assert [tuple(row) for row in moved] == []
    assert {row["broker_id"] for row in found["plan_reason"].collect()} == {2, 3}
    assert found["partition"].dtypes[4:6] == [("leader", "int"), ("leader_epoch", "int")]


def test_a_second_run_leaves_nothing_of_the_first(spark: SparkSession, tmp_path: Path) -> None:
    """Of persisted tables, whose keys Spark took for a number and a date."""
    from kedge.pipeline import spark as kp  # noqa: PLC0415

    brokers = spark.sql("SELECT 7 AS cluster, DATE'2026-11-28' AS snapshot, explode(array(1, 2, 3)) AS broker_id")
    for broken in (True, False):
        rows = "array(1, 2, 3)" if not broken else "array(1, 1)"
        partitions = brokers.selectExpr(
            "cluster", "snapshot", "'t' AS topic", "broker_id AS partition", f"{rows} AS replicas", f"{rows} AS isr"
        )
        raw = kp.persist({"broker": brokers, "partition": partitions.repartition(3)})
        kp.write(kp.persist(kp.check(kp.compute_load(kp.validate(raw)))), str(tmp_path))
        there = local.read(tmp_path, ["violation", "rejected_rows"], plan="any")
        assert {name: table.num_rows > 0 for name, table in there.items()} == dict.fromkeys(there, broken)
    assert local.read(tmp_path, ["partition_valid"], cluster="7", snapshot="2026-11-28")["partition"].num_rows == 3


def test_nothing_is_computed_before_an_action(spark: SparkSession) -> None:
    """An unknown broker is an error of the job; a wrong argument is one at once."""
    from kedge.pipeline import spark as kp  # noqa: PLC0415

    given = {
        name: spark.createDataFrame(table.to_pandas(), schema)
        for name, (table, schema) in {
            "broker": (pa.table({"broker_id": [1, 2]}), "broker_id int"),
            "partition": (pa.table({"topic": ["t"], "partition": [0]}), "topic string, partition int"),
        }.items()
    }
    given["partition"] = given["partition"].selectExpr("*", "array(1) AS replicas", "array(1) AS isr")
    found = kp.drain(kp.compute_load(given), brokers=[9])
    with pytest.raises(Exception, match=r"unknown brokers: \[9\]"):
        found["plan"].collect()
    with pytest.raises(BadInput, match="expected 1 or more, got 0"):
        kp.set_replication_factor(given, 0)
    with pytest.raises(BadInput, match="unknown tables brokers"):
        kp.validate({**given, "brokers": given["broker"]})
    with pytest.raises(BadInput, match="no table replica_load, which compute_load adds"):
        kp.drain(given, brokers=[1])
    with pytest.raises(BadInput, match="got broker: cluster; partition: neither"):
        kp.validate({**given, "broker": given["broker"].selectExpr("'c' AS cluster", "*")})
