"""`kedge plan compute-load` by the number of samples: from Parquet to the loads, in a process of its own.

A day of samples every 5 minutes of every partition, ordered by time: a partition has as many windows as samples, which
is the most that can be kept. 10 and 20 million, of 34,710 and 69,450 partitions on 90 brokers.
"""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, datetime
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.figures import figure
from kedge.pipeline.generating import generate
from kedge.pipeline.stages.windows import MEAN, P95
from kedge.pipeline.tables.arrow import Arrow, arrow_schema, from_columns, from_rows
from kedge.pipeline.tables.declared import BROKER, PARTITION, REPLICA_SAMPLE, SNAPSHOT_TIME
from kedge.pipeline.tables.files import GROUP_ROWS, Place

TOPICS, BROKERS, PARTITIONS, TIMES = 1_157, 90, 30, 288
_BEGIN_US = 1_800_000_000_000_000
_EVERY_US = 300_000_000
_LOAD = """
import json, resource, sys
from time import perf_counter, process_time
from kedge.pipeline.stages.usable import LoadSettings
from kedge.pipeline.tables.files import Place, read_all
from kedge.pipeline.verbs.load import Load
from kedge.pipeline.verbs.verb import unheard
verb, place = Load(settings=LoadSettings(statistic=sys.argv[2])), Place(sys.argv[1], "c", "s")
began, cpu = perf_counter(), process_time()
said = verb.run(place, read_all(place, verb.wanted), unheard)
assert said.row["bases"] == {"measured": said.row["partitions"]}, said.row
found = {"seconds": perf_counter() - began, "cpu": process_time() - cpu}
print(json.dumps({**found, "rss": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}))
"""


def run() -> None:
    """Print the figures of both numbers of samples, for a statistic that keeps no windows and one that keeps all."""
    for topics in (TOPICS, 2 * TOPICS + 1):
        with TemporaryDirectory() as folder:
            samples = _write(Place(folder, "c", "s"), topics)
            for statistic in (MEAN, P95):
                found = _load(folder, statistic)
                special = {"peak_rss_bytes": found["rss"], "cpu_seconds": round(found["cpu"], 2)}
                figure(f"compute-load, {statistic} of samples", samples, found["seconds"], store="none", **special)


def _write(place: Place, topics: int) -> int:
    """The tables of a cluster; returns the number of samples."""
    made = generate(brokers=BROKERS, topics=topics, partitions=PARTITIONS)
    for table in (BROKER, PARTITION):
        place.write(table, made[table.name])
    last_s = (_BEGIN_US + (TIMES - 1) * _EVERY_US) / 1e6
    place.write(SNAPSHOT_TIME, from_rows(SNAPSHOT_TIME, [(datetime.fromtimestamp(last_s, UTC),)]))
    path, random = place.path(REPLICA_SAMPLE), np.random.Generator(np.random.PCG64(0))
    path.parent.mkdir(parents=True)
    with pq.ParquetWriter(path, arrow_schema(REPLICA_SAMPLE), compression="zstd", compression_level=1) as file:
        for n in range(TIMES):
            file.write_table(_samples(made["partition"], _BEGIN_US + n * _EVERY_US, random), GROUP_ROWS)
    return int(TIMES * made["partition"].num_rows)


def _samples(partition: Arrow, at_us: int, random: np.random.Generator) -> Arrow:
    count = partition.num_rows
    columns: dict[str, Any] = {
        "ts": pa.array(np.full(count, at_us), pa.timestamp("us", tz="UTC")),
        "broker_id": partition.column("leader"),
        "topic": partition.column("topic"),
        "partition": partition.column("partition"),
        "in_bps": random.random(count) * 1e6,
        "out_bps": random.random(count) * 1e6,
        "is_leader": np.ones(count, np.bool_),
        "in_reassignment": np.zeros(count, np.bool_),
    }
    return from_columns(REPLICA_SAMPLE, columns)


def _load(folder: str, statistic: str) -> dict[str, Any]:
    done = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-c", _LOAD, folder, statistic], capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.exit(done.stderr)
    found: dict[str, Any] = json.loads(done.stdout)
    return found
