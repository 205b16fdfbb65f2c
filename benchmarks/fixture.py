"""The clusters for tests (`kedge.testing`): the first import, start and end of one in this process, and of a server."""

from __future__ import annotations

import subprocess
import sys
from typing import Final

from benchmarks.figures import figure, percentile, timed
from kedge.testing import Cluster, Server

STARTS, SERVERS, IMPORTS = 100, 3, 3
_IMPORT: Final = "import time; t = time.perf_counter(); import kedge.testing; print(time.perf_counter() - t)"


def run() -> None:
    imports = [
        float(subprocess.run([sys.executable, "-c", _IMPORT], capture_output=True, text=True, check=True).stdout)  # noqa: S603
        for _ in range(IMPORTS)
    ]
    figure("the first import of kedge.testing, median", IMPORTS, percentile(imports, 0.5))
    _starts("a Cluster of 3 brokers", Cluster, STARTS)
    _starts("a Server of 3 brokers", Server, SERVERS)


def _starts(what: str, kind: type[Cluster | Server], count: int) -> None:
    kind().__enter__().__exit__()  # code of clients that is compiled at the first use
    starts, ends = list[float](), list[float]()
    for _ in range(count):
        with timed() as start:
            opened = kind().__enter__()
        with timed() as end:
            opened.__exit__()
        starts.append(start.seconds)
        ends.append(end.seconds)
    for of, seconds in (("until it is ready", starts), ("until it has ended", ends)):
        figure(f"{what}, {of}, p50", count, percentile(seconds, 0.5))
        figure(f"{what}, {of}, p99", count, percentile(seconds, 0.99))
