"""A Spark job: plan to empty some brokers of every cluster, and keep what comes out as tables.

    spark-submit --py-files kedge.zip plan_fleet.py RAW RESULT BROKERS [FORMAT]

RAW: a folder or object store with the tables broker and partition, or `catalog:SCHEMA`. RESULT: a folder, or
`catalog:SCHEMA`. BROKERS: ids such as 3,4. FORMAT: of RESULT, parquet (the default), delta or iceberg.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping

from pyspark.sql import DataFrame, SparkSession

from kedge.pipeline import WaveSettings
from kedge.pipeline import spark as kp

KEPT = ("violation", "rejected_rows", "plan", "plan_move", "plan_reason", "wave", "wave_move")


def raw(spark: SparkSession, where: str) -> Mapping[str, DataFrame]:
    if not where.startswith("catalog:"):
        return kp.read(spark, where)
    schema = where.removeprefix("catalog:")
    return {name: spark.table(f"{schema}.{name}") for name in ("broker", "partition")}


def main(source: str, result: str, brokers: str, kind: str = "parquet") -> None:
    spark = SparkSession.builder.getOrCreate()
    silver = kp.compute_load(kp.validate(raw(spark, source)))
    drained = kp.drain(kp.check(silver), [int(broker) for broker in brokers.split(",")])
    moves = kp.persist(kp.waves(drained, WaveSettings(throttle_bps=50e6)))
    for name in KEPT:
        rows = moves[name].write.format(kind).mode("overwrite").partitionBy("cluster", "snapshot")
        if result.startswith("catalog:"):
            rows.saveAsTable(f"{result.removeprefix('catalog:')}.{name}")
        else:
            rows.save(f"{result}/{name}")
    for row in moves["plan"].orderBy("cluster").collect():
        print(f"{row['cluster']}: {row['partitions_changed']} partitions move, complete: {row['complete']}")


if __name__ == "__main__":
    main(*sys.argv[1:])
