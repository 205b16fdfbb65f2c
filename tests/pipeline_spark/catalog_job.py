"""Commands over a schema of a catalog, in a process of their own: `catalog_job.py RAW` prints how many rows each
cluster has after all of them were planned, and then one alone, again.

Spark finds the snapshot 1 in the names of RAW's folders and takes it for a number.
"""

from __future__ import annotations

import sys

from pyspark.sql import SparkSession

from tests.kit.commands import plan

SCHEMA = "fleets"
VERBS = (("validate",), ("compute-load",), ("drain", "--brokers", "3", "--name", "p"))


def main(raw: str) -> None:
    spark = SparkSession.builder.getOrCreate()
    spark.sql(f"CREATE SCHEMA {SCHEMA}")
    for name, usable in (("broker", "true"), ("partition", "size(replicas) = size(array_distinct(replicas))")):
        rows = spark.read.parquet(f"{raw}/{name}")
        assert dict(rows.dtypes)["snapshot"] == "int"
        rows.where(usable).write.partitionBy("cluster", "snapshot").saveAsTable(f"{SCHEMA}.{name}")
    for clusters in (("--all-clusters",), ("--cluster", "east")):
        for verb, *arguments in VERBS:
            done = plan(verb, f"catalog:{SCHEMA}", *arguments, *clusters, "--engine", "spark")
            assert done.exit_code in (0, 1), done.output  # 1: a cluster with findings
    for name in ("broker_valid", "replica_load", "plan", "plan_move"):
        found = spark.table(f"{SCHEMA}.{name}").groupBy("cluster").count().orderBy("cluster").collect()
        sys.stdout.write(" ".join((name, *(f"{cluster}:{rows}" for cluster, rows in found))) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
