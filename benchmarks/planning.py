"""The engines of `kedge plan` side by side: the same Parquet to the same plan.json, in a session that stands; fleets.

Clusters as in `plan`: a tenth of the brokers is drained. Spark is embedded on all cores, and each figure of it is the
best of three, since the first starts its workers. `load` and `check` are measured on the largest cluster, with its
logs, 1.3 million rows. KEDGE_CLUSTERS: of the fleet.
Processor seconds are those of this process, the JVM and its workers: on a busy machine they say more than the clock.
Seconds of both engines by the size of the cluster are drawn into the file that `KEDGE_PLOT` names.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import attrs
import numpy as np
import pyarrow as pa

from benchmarks.figures import figure, timed
from kedge.pipeline.generating import FIRST_BROKER, generate
from kedge.pipeline.report.svg import bars
from kedge.pipeline.spark import session
from kedge.pipeline.spark.verbs import results as on_spark
from kedge.pipeline.stages.arrays import Limits
from kedge.pipeline.stages.requests import Drain
from kedge.pipeline.tables.arrow import Arrow, from_columns
from kedge.pipeline.tables.declared import PARTITION, REPLICA_LOAD, REPLICA_LOG, TABLES
from kedge.pipeline.tables.files import Place
from kedge.pipeline.verbs.check import Check
from kedge.pipeline.verbs.load import Load
from kedge.pipeline.verbs.local import results
from kedge.pipeline.verbs.plan import Plan
from kedge.pipeline.verbs.verb import Output, Said, Verb, unheard

# brokers, topics of 30 partitions: 10,000, 90,000, 360,000 and 1,305,000 replicas
SIZES = ((30, 111), (30, 1_000), (90, 4_000), (270, 14_500))
_CLUSTERS = "KEDGE_CLUSTERS"
FLEET = (100, 30, 333)  # clusters (or as the variable says), brokers, topics: 10,000 partitions each
_KINDS = 50  # clusters that differ; more are copies of them under other names
_COLOURS = ("--s1:#1f6f8b",)


def run() -> None:
    """Print the figures, and draw them if a file is named."""
    with TemporaryDirectory() as folder, session() as spark:
        seconds: dict[str, float] = {}
        for brokers, topics in SIZES:
            seconds |= _sizes(spark, Path(folder) / str(topics), brokers, topics)
        _load_and_check(spark, Path(folder) / str(SIZES[-1][1]))
        _fleet(spark, Path(folder) / "fleet")
    if os.environ.get("KEDGE_PLOT"):
        draw(seconds, Path(os.environ["KEDGE_PLOT"]))


def _sizes(spark: Any, root: Path, brokers: int, topics: int) -> dict[str, float]:
    place = Place(root, "c", "s")
    for name, table in generate(brokers=brokers, topics=topics, partitions=30).items():
        place.write(TABLES[name], table)
    verb = Plan("p", _request(brokers), Limits(), plans=Output(root / "plan.json", "json"))
    local, warm = _both(spark, verb, [place])
    replicas = topics * 90
    figure("drain, Parquet to plan.json, local", replicas, local.seconds, store="none", **local.said)
    special = {"to_local": round(warm.seconds / local.seconds, 2)}
    figure("drain, Parquet to plan.json, Spark, warm", replicas, warm.seconds, store="none", **special, **warm.said)
    return {f"{replicas:,}, local": local.seconds, f"{replicas:,}, Spark": warm.seconds}


def _load_and_check(spark: Any, root: Path) -> None:
    place = Place(root, "c", "s")
    place.write(REPLICA_LOG, _logs(place.read(PARTITION), place.read(REPLICA_LOAD)))
    replicas = place.read(REPLICA_LOG).num_rows
    verbs: dict[str, Verb] = {
        "validate and load, Parquet to Parquet": Load(),
        "check, Parquet to violations": Check(Limits()),
    }
    for what, verb in verbs.items():
        local, warm = _both(spark, verb, [place])
        figure(f"{what}, local", replicas, local.seconds, store="none", **local.said)
        figure(f"{what}, Spark, warm", replicas, warm.seconds, store="none", **warm.said)


def _fleet(spark: Any, root: Path) -> None:
    clusters, brokers, topics = int(os.environ.get(_CLUSTERS, FLEET[0])), *FLEET[1:]
    places = [Place(root, f"c{i:04d}", "s") for i in range(clusters)]
    kinds = [
        generate(brokers=brokers, topics=topics, partitions=30, seed=seed) for seed in range(min(clusters, _KINDS))
    ]
    for i, place in enumerate(places):
        for name, table in kinds[i % len(kinds)].items():
            place.write(TABLES[name], table)
    del kinds
    verb = Plan("p", _request(brokers), Limits())
    local, warm = _both(spark, verb, places)
    replicas = clusters * topics * 90
    figure(f"drain of {clusters} clusters, one process, local", replicas, local.seconds, store="none", **local.said)
    special = {"times_as_fast": round(local.seconds / warm.seconds, 2), "driver_mib": _peak_mib()}
    figure(
        f"drain of {clusters} clusters in one job, Spark", replicas, warm.seconds, store="none", **special, **warm.said
    )


def _request(brokers: int) -> Drain:
    return Drain(tuple(FIRST_BROKER + i for i in range(brokers // 10)))


def _both(spark: Any, verb: Verb, places: Sequence[Place]) -> tuple[Took, Took]:
    """The local engine in one process, and Spark once its workers run; that they said the same."""
    local, wanted = _best(lambda: [_sound(said) for _, said in results(verb, places, unheard, processes=1)])
    warm, made = _best(lambda: [_sound(said) for _, said in on_spark(spark, verb, places)], times=3)
    if [one.row for one in made] != [one.row for one in wanted]:
        raise AssertionError("the engines differ")
    return local, warm


@attrs.frozen
class Took:
    """Seconds of the clock, and of processors."""

    seconds: float
    cpu: float

    @property
    def said(self) -> dict[str, float]:
        """How much else the machine had to do stands beside it."""
        return {"cpu_seconds": round(self.cpu, 2), "load_1min": round(os.getloadavg()[0], 1)}


def _best(work: Callable[[], Any], times: int = 2) -> tuple[Took, Any]:
    """The shorter time of some runs, and what came of the last."""
    found, took = None, []
    for _ in range(times):
        gc.collect()
        before = _cpu_s()
        with timed() as watch:
            found = work()
        took.append(Took(watch.seconds, _cpu_s() - before))
    return min(took, key=lambda one: one.seconds), found


def _cpu_s() -> float:
    """What this process and those below it have used."""
    parents, used = {}, {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            text = path.read_text()
        except OSError:
            continue
        fields = text.rpartition(")")[2].split()
        pid = int(path.parent.name)
        parents[pid], used[pid] = int(fields[1]), sum(map(int, fields[11:15]))
    total = 0
    for pid, ticks in used.items():
        above = pid
        while above not in {0, os.getpid()}:
            above = parents.get(above, 0)
        total += ticks if above else 0
    return total / os.sysconf("SC_CLK_TCK")


def _peak_mib() -> int:
    """The most memory that this process and its JVM held, MiB; what made the clusters is in it."""
    total_kib = 0
    for name in ("self", *(path.parent.name for path in Path("/proc").glob("[0-9]*/cmdline") if _is_our_jvm(path))):
        status = Path(f"/proc/{name}/status").read_text()
        total_kib += int(status.partition("VmHWM:")[2].split()[0])
    return total_kib // 1024


def _is_our_jvm(cmdline: Path) -> bool:
    try:
        parent = (cmdline.parent / "stat").read_text().rpartition(")")[2].split()[1]
        return parent == str(os.getpid()) and b"java" in cmdline.read_bytes()
    except OSError:
        return False


def _sound(found: Said | Exception) -> Said:
    if isinstance(found, Exception):
        raise found
    return found


def _logs(partition: Arrow, load: Arrow) -> Arrow:
    """A log per replica, each of the size of its partition."""
    factor = 3
    at = pa.array(np.repeat(np.arange(partition.num_rows), factor))
    columns = {name: partition.column(name).take(at) for name in ("topic", "partition")}
    brokers = partition.column("replicas").combine_chunks().flatten()
    rest = {"log_dir": ["/d"] * len(at), "offset_lag": [0] * len(at), "is_future": [False] * len(at)}
    return from_columns(
        REPLICA_LOG, {**columns, **rest, "broker_id": brokers, "size_bytes": load.column("size_bytes").take(at)}
    )


def draw(seconds: Mapping[str, float], path: Path, unit: str = "seconds") -> None:
    """A picture that stands alone: a bar per engine and size."""
    style = f"<style>:root{{{';'.join(_COLOURS)}}}.tick{{font:12px sans-serif;fill:#333}}</style>"
    plot = bars(seconds, f"drain, Parquet to plan.json: {unit} by replicas and engine")
    path.write_text(plot.replace(">", f">{style}", 1) + "\n", encoding="utf-8")
