"""Audits and progress of journals in DataFrames: the tables of the local engine, and nothing before an action."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

from kedge.pipeline import generate, local
from kedge.pipeline.errors import BadInput
from tests.pipeline_journal.journals import (
    completed_early,
    throttle_left,
    topic_twice,
    write,
    written,
    written_by_a_zombie,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.server


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    """East is clean. West has rows of each kind of finding, in files of the same names, which are not in order by their
    names alone; north has one that is named otherwise."""
    folder = tmp_path / "journals"
    broken = written()
    for plant in (completed_early, throttle_left, topic_twice, written_by_a_zombie):
        plant(broken)
    files = write(folder / "cluster=west", broken, lines_max=4)
    assert len(files) > 11
    lines = files[0].read_bytes().splitlines(keepends=True)
    lines[3] = b'{"epoch":"\xff"}\n'
    files[0].write_bytes(b"".join(lines))
    files[1].unlink()
    with files[-1].open("ab") as torn:
        torn.write(b'{"epoch":2')
    write(folder / "cluster=east", written(), lines_max=40)
    (only,) = write(folder / "cluster=north", [row for row in written() if row["epoch"] == 1])
    only.rename(only.with_name("kedge-1-2.jsonl"))
    return folder


def rows_of(table: Any) -> Counter[str]:
    rows = table.to_pylist() if hasattr(table, "to_pylist") else [row.asDict() for row in table.collect()]
    return Counter(map(repr, rows))


def from_source(spark: SparkSession, folder: Path) -> DataFrame:
    from kedge.pipeline import spark as kp  # noqa: PLC0415 - needs Spark

    spark.dataSource.register(kp.KedgeJournal)
    return spark.read.format("kedge_journal").load(str(folder))


def test_frames_are_audited_as_by_the_local_engine(spark: SparkSession, fleet: Path) -> None:
    """From the data source, and from a table of another program: more partitions, other types, rows in no order."""
    from kedge.pipeline import spark as kp  # noqa: PLC0415

    events = local.read_journal([fleet])
    pq.write_table(events.take([*range(1, events.num_rows, 2), *range(0, events.num_rows, 2)]), fleet.parent / "kept")
    kept = spark.read.parquet(str(fleet.parent / "kept")).drop("unknown", "raw")
    kept = kept.withColumn("row", kept["row"].cast("bigint")).repartition(3)
    expected = {**local.audit(events), **local.progress(events)}
    assert {*expected["audit_violation"]["kind"].to_pylist()} >= {"completion", "throttle", "superseded epoch", "topic"}
    assert {*expected["audit_gap"]["cluster"].to_pylist()} == {"north", "west"}
    for given in (from_source(spark, fleet), kept):
        audited, progressed = kp.persist(kp.audit(given)), kp.persist(kp.progress(given))
        for name, table in expected.items():
            frame = (progressed if name in progressed and name != "rejected_rows" else audited)[name]
            if name != "rejected_rows" or given is not kept:  # whose raw text was not kept
                assert frame.columns == table.column_names
                assert rows_of(frame) == rows_of(table), name
        audited.unpersist()
        progressed.unpersist()


def test_a_journal_is_not_read_before_an_action(spark: SparkSession, fleet: Path) -> None:
    """A line that lacks its hash fails the job; a table without that column is refused at once."""
    from kedge.pipeline import spark as kp  # noqa: PLC0415

    events = from_source(spark, fleet)
    found = kp.audit(events.drop("hash").selectExpr("*", "CAST(NULL AS string) AS hash"))
    with pytest.raises(Exception, match="hash is null in a row without a problem"):
        found["audit_violation"].collect()
    with pytest.raises(BadInput, match="journal_event: no column hash"):
        kp.audit(events.drop("hash"))


def test_what_is_collected_is_planned_and_written(spark: SparkSession, tmp_path: Path) -> None:
    from kedge.pipeline import spark as kp  # noqa: PLC0415

    given = generate(brokers=6, topics=2, partitions=3)
    entries = [
        f'{{"topic": "{row["topic"]}", "partition": {row["partition"]}, "replicas": {row["replicas"]}}}'
        for row in given["partition"].to_pylist()
    ]
    (tmp_path / "map.json").write_text(f'{{"version": 1, "partitions": [{", ".join(entries)}]}}')
    raw = kp.collect(spark, cluster="east", snapshot="1", files={"map": [tmp_path / "map.json"]})
    planned = kp.drain(kp.compute_load(kp.validate(raw)), brokers=[1001], ignore_racks=True)
    kp.write(planned, str(tmp_path / "tables"))
    found = local.read(tmp_path / "tables", cluster="east", plan="drain")
    assert found["plan_move"].num_rows > 0
    assert local.read(tmp_path / "tables", ["snapshot_time"], plan="drain")["snapshot_time"].num_rows == 1
