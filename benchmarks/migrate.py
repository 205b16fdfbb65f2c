"""Moving a cluster to another store: 20,000 topics of 10 partitions, RF 3, 10 brokers. Nothing changes in the cluster
meanwhile. `led_by_nobody_s`: from the fence until a controller leads over the new store and every leader epoch is
raised. That controller works while the command waits, as on another machine; then the old store is held against what
was sealed (`verified_s`)."""

from __future__ import annotations

import time

from benchmarks.cluster import QuietHost, named, register, settle
from benchmarks.figures import rate
from benchmarks.place import Place
from kedge import Controller
from kedge.controller.runtime.clock import Chance, SystemClock
from kedge.controller.runtime.migration import Migration

TOPICS, PARTITIONS, BROKERS = 20_000, 10, 10


def run(source: Place, target: Place) -> None:
    source.fill(TOPICS, PARTITIONS, BROKERS)
    partitions, seconds = _move(source, target)
    parts = {f"{name}_s": round(value, 3) for name, value in seconds.items()}
    stores = f"{source.name} to {target.name}"
    rate("migration, until the last request was handed over", partitions, seconds["all"], store=stores, **parts)


def _move(source: Place, target: Place) -> tuple[int, dict[str, float]]:
    """How many partitions were moved, and the seconds of each part."""
    brokers = named(source.open())
    first = source.driven(source.open(), QuietHost()).controller
    after = target.driven(target.open(), QuietHost(), awaits_cluster=True).controller
    for controller in (first, after):
        register(controller, brokers)
        settle(controller)
    times: dict[str, float] = {"begin": time.perf_counter()}

    def say(text: str) -> None:
        times[text.split(":", maxsplit=1)[0]] = time.perf_counter()
        if text.startswith("TO is released"):
            _raise(after, times)

    migration = Migration(
        source.open(),
        target.open(),
        (source.name, target.name),
        clock=SystemClock(),
        chance=Chance(),
        pause=time.sleep,
        say=say,
    )
    assert migration.run(60) == ()
    times["end"] = time.perf_counter()
    fenced = next(at for text, at in times.items() if "is fenced" in text)
    return after.describe().partitions, {
        "first_copy": times["scan 1"] - times["begin"],
        "until_fenced": fenced - times["begin"],
        "last_scan": times["last scan"] - fenced,
        "sealed": times["stage sealed is done"] - times["last scan"],
        "taken_over": times["leads"] - times["stage sealed is done"],
        "raised": times["raised"] - times["leads"],
        "led_by_nobody": times["raised"] - fenced,
        "told": times["told"] - times["raised"],
        "verified": times["end"] - times["told"],
        "all": times["end"] - times["begin"],
    }


def _raise(after: Controller, times: dict[str, float]) -> None:
    """It leads, has raised every leader epoch, and has sent it to every broker."""
    while not after.is_active:
        after.poll_once()
    times["leads"] = time.perf_counter()
    query = after.query(lambda view: view.migration_version)
    while not query.done():
        after.poll_once()
    times["raised"] = time.perf_counter()
    settle(after)
    times["told"] = time.perf_counter()
