"""A figure as one line of JSON: what, n, seconds, per_second, peak_rss_bytes, store, versions, build, the conditions of
the run (`benchmarks.conditions`), and what is special."""

from __future__ import annotations

import json
import platform
import resource
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from time import perf_counter
from typing import Final

from tests.kit.memory import resident

YARDSTICK_TURNS: Final = 1_500_000
_conditions: dict[str, object] = {}


def under(conditions: Mapping[str, object]) -> None:
    """Add these conditions to every figure from now on."""
    _conditions.clear()
    _conditions.update(conditions)


def build() -> dict[str, object]:
    """How CPython was compiled: without a profile it takes 1.2 to 2 times as long. Debian optimises by profile without
    the option, so its CONFIG_ARGS do not show it."""
    distribution = sys.base_prefix == "/usr"
    asked = "--enable-optimizations" in (sysconfig.get_config_var("CONFIG_ARGS") or "")
    home = str(Path.home())
    where = "distribution" if distribution else sys.base_prefix.replace(home, "~", 1)
    return {"optimised": asked or distribution, "from": where}


def yardstick(when: str) -> None:
    """Time a plain loop: figures of two machines or hours are compared by their ratio to it."""
    began, total = perf_counter(), 0
    for turn in range(YARDSTICK_TURNS):
        total += turn & 3
    rate(f"yardstick, a plain loop, {when}", YARDSTICK_TURNS, perf_counter() - began, store="none")


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
    return resident()


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
        "build": build(),
        **_conditions,
        **special,
    }
    print(json.dumps(line))
    sys.stdout.flush()


def percentile(values: list[float], share: float) -> float:
    """The value that `share` (0..1) of the values do not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]
