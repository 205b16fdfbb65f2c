"""A figure as one line of JSON: what, n, seconds, per_second, peak_rss_bytes, store, versions, and what is special."""

from __future__ import annotations

import json
import os
import platform
import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from time import perf_counter


class Stopwatch:
    """Seconds of a `with` block."""

    seconds = 0.0


@contextmanager
def timed() -> Iterator[Stopwatch]:
    watch = Stopwatch()
    began = perf_counter()
    try:
        yield watch
    finally:
        watch.seconds = perf_counter() - began


def rss_bytes() -> int:
    """Resident memory of this process now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def rate(what: str, n: int, seconds: float, **special: object) -> None:
    """Print how fast `n` of something were done in `seconds`."""
    figure(what, n, seconds, per_second=round(n / seconds), **special)


def figure(what: str, n: int, seconds: float, **special: object) -> None:
    """Print a figure; `n`: how many were looked at."""
    line = {
        "what": what,
        "n": n,
        "seconds": round(seconds, 6),
        "peak_rss_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "store": "memory",
        "versions": {"kedge": version("kedge"), "python": platform.python_version()},
        **special,
    }
    print(json.dumps(line))
    sys.stdout.flush()


def percentile(values: list[float], share: float) -> float:
    """The value that `share` (0..1) of the values do not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]
