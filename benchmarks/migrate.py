"""Moving a cluster to another store, as `kedge store migrate` does: 20,000 topics of 10 partitions,
RF 3, 10 brokers."""

from __future__ import annotations

import time
from contextlib import closing

from benchmarks.figures import rate
from benchmarks.place import Place
from kedge.controller.runtime.clock import IdSource
from kedge.controller.runtime.migration import Migration

TOPICS, PARTITIONS, BROKERS = 20_000, 10, 10


def run(source: Place, target: Place) -> None:
    source.fill(TOPICS, PARTITIONS, BROKERS)
    with closing(source.open()) as here, closing(target.open()) as there:
        migration = Migration(here, there, (source.name, target.name), id_source=IdSource())
        begun_s = time.perf_counter()
        migration.check()
        migration.run()
        took_s = time.perf_counter() - begun_s
    rate("migration", TOPICS * PARTITIONS, took_s, store=f"{source.name} to {target.name}")
