"""Planning by the size of the cluster: from Parquet to plan.json in a process of its own, and planning alone.

Generated clusters: three replicas in three racks, 30 partitions a topic, heavy-tailed sizes, one partition in a
hundred hot. The tenth of the brokers that is drained, or was added, is the first or the last by id. What the plan is
worth stands in the line: bytes against the bound, max/mean of bytes and of leaders afterwards.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.figures import figure, timed
from kedge.pipeline.generating import FIRST_BROKER, generate
from kedge.pipeline.tables.declared import TABLES
from kedge.pipeline.tables.files import Place

# brokers, topics: 10,000, 90,000, 360,000 and 1,305,000 replicas
SIZES = ((30, 111), (30, 1_000), (90, 4_000), (270, 14_500))
_BY = ("network-in", "bytes,network-in,network-out,leaders")
_KERNEL = """
import gc, json, resource, sys
from pathlib import Path
from time import perf_counter, process_time
from kedge.pipeline.stages.plan import plan
from kedge.pipeline.stages.requests import Add, Drain, Leaders, Rebalance
from kedge.pipeline.tables.declared import TABLES
from kedge.pipeline.tables.files import Place
place = Place(Path(sys.argv[1]), "c", "s")
tables = {name: place.read(TABLES[name]) for name in ("broker", "partition", "replica_load")}
request = eval(sys.argv[2])
gc.disable()
began, cpu = perf_counter(), process_time()
found = plan(tables, request, name="p")
seconds, cpu = perf_counter() - began, process_time() - cpu
(row,) = found["plan"].to_pylist()
rss = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
row |= {"seconds": seconds, "cpu": cpu, "rss": rss, "settings": None}
print(json.dumps(row))
"""


def run() -> None:
    """Print the figures of every size and kind."""
    for brokers, topics in SIZES:
        tenth = brokers // 10
        first = ",".join(str(FIRST_BROKER + i) for i in range(tenth))
        last = ",".join(str(FIRST_BROKER + brokers - 1 - i) for i in range(tenth))
        by = [("rebalance", ["--by", names]) for names in _BY]
        whole = [("drain", ["--brokers", first]), ("rebalance", []), *by, ("balance-leaders", [])]
        _measure(brokers, topics, 0, whole)
        _measure(brokers, topics, tenth, [("fill-brokers", ["--new-brokers", last])])


def _measure(brokers: int, topics: int, empty: int, kinds: list[tuple[str, list[str]]]) -> None:
    with TemporaryDirectory() as folder:
        place = Place(Path(folder), "c", "s")
        for name, table in generate(brokers=brokers, topics=topics, partitions=30, empty_brokers=empty).items():
            place.write(TABLES[name], table)
        for kind, options in kinds:
            _one(folder, kind, options, topics * 90)


def _one(folder: str, kind: str, options: list[str], replicas: int) -> None:
    out = f"{folder}/plan.json"
    kedge = [
        sys.executable,
        "-c",
        "from kedge.controller.cli import main; main()",
        "plan",
        kind,
        folder,
        *options,
        "--json",
    ]
    before = _cpu_of_children()
    with timed() as watch:
        done = subprocess.run([*kedge, "--out", out], capture_output=True, text=True, check=False)  # noqa: S603 - ours
    if done.returncode not in {0, 1}:
        sys.exit(done.stderr)
    row = json.loads(done.stdout)
    worth = {
        "bytes_to_bound": round(row["bytes_copied"] / max(row["bytes_bound"], 1), 4),
        "bytes_max_mean": row["size_max_mean_after"],
        "leaders_max_mean": row["leaders_max_mean_after"],
        "network_in_max_mean": row["network_in_max_mean_after"],
        "network_out_max_mean": row["network_out_max_mean_after"],
        "partitions_changed": row["partitions_changed"],
        "cpu_seconds": round(_cpu_of_children() - before, 3),
        "plan_json_bytes": Path(out).stat().st_size,
    }
    what = " ".join(("plan", kind, *options)) if "--by" in options else f"plan {kind}"
    figure(f"{what}, Parquet to plan.json, whole process", replicas, watch.seconds, store="none", **worth)
    inside = _inside(folder, kind, options)
    special = {"peak_rss_bytes": int(inside["rss"]), "cpu_seconds": round(inside["cpu"], 3)}
    figure(f"{what}, tables to tables", replicas, inside["seconds"], store="none", **special)


def _cpu_of_children() -> float:
    """Processor time of the processes that have ended: on a busy machine it says more than the clock."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _inside(folder: str, kind: str, options: list[str]) -> dict[str, float]:
    """What planning takes of it, without reading and writing."""
    ids = options[1].split(",") if options else []
    asked = {
        "drain": f"Drain(({','.join(ids)},))",
        "fill-brokers": f"Add(({','.join(f'({broker}, None)' for broker in ids)},))",
        "rebalance": f"Rebalance(by={tuple(ids) or ('bytes',)})",
        "balance-leaders": "Leaders()",
    }[kind]
    done = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-c", _KERNEL, folder, asked], capture_output=True, text=True, check=True
    )
    found: dict[str, float] = json.loads(done.stdout)
    return found
