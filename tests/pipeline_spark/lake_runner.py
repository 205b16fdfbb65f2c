"""`python -m tests.pipeline_spark.lake_runner JOBS`: commands of `kedge` on a Spark with Delta and Iceberg, in one
session, and what its tables hold afterwards; for a process of its own, since that Spark is another one than ours."""

from __future__ import annotations

import json
import pickle
import sys
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from kedge.controller.cli.root import kedge
from tests.pipeline_spark.schemas import rows_of
from tests.sparks import started


def main(jobs: Path) -> None:
    given = json.loads(jobs.read_text())
    said: dict[str, Any] = {}
    spark = started(given["settings"])
    for schema in given["schemas"]:
        spark.sql(f"CREATE NAMESPACE {schema}")
    for name, job in given["jobs"].items():
        done = [CliRunner().invoke(kedge, line) for line in job["lines"]]
        there = {table: rows for table, where in job["tables"].items() if (rows := rows_of(spark, where, table))}
        said[name] = [(one.exit_code, one.stdout, one.stderr) for one in done], there
    jobs.with_suffix(".said").write_bytes(pickle.dumps(said))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
