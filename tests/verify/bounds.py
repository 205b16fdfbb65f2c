"""Limits inside Kedge that a seed draws, from 1 upwards: caches, batches, chunks. Production values are so large that
no simulation reaches them, and a fault behind one would be found by users alone (FoundationDB calls it "buggify").

In: a seed. While `drawn` is open the constants of BOUNDS have the drawn values; half of all seeds leave them alone.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType
from typing import Final

BOUNDS: Final[Mapping[str, tuple[int, ...]]] = {
    "kedge.controller.codec.bulk._CHUNK": (1, 2),
    "kedge.controller.codec.small.INTENTS_BYTES_MAX": (500, 2_000),
    "kedge.controller.keys.changes._PURGED_MAX": (1, 3),
    "kedge.controller.keys.changes.PILE_MAX": (1, 3),
    "kedge.controller.keys.topic_load._PART": (1, 2),
    "kedge.controller.rules.reduction.purge._CHUNK_MAX": (1, 2),
    "kedge.controller.rules.throttling.plans.AT_ONCE_MAX": (0, 1),
    "kedge.controller.runtime.batch_size.DECISIONS_FEW": (1, 2),
    "kedge.controller.runtime.ready.CONFLICTS_MAX": (1, 2),
    "kedge.controller.runtime.dispatcher._LOG_MIN": (0, 1),
    "kedge.controller.runtime.foreign_targets._PART": (1, 2),
    "kedge.controller.runtime.journal.journal.CONFLICTS_MAX": (1,),
    "kedge.controller.runtime.loop.ITEMS_MAX": (1, 5),
    "kedge.controller.runtime.submit._ONE_BY_ONE_MAX": (0, 1),
    "kedge.controller.runtime.term.ACKNOWLEDGED_MAX": (1, 2),
    "kedge.controller.coordinators.schedule._STALE_MAX": (0, 1),
    "kedge.controller.server.compacting._KEYS_MAX": (1, 2, 5),
    "kedge.controller.server.led._BATCH_BYTES": (1, 400, 1_000),
    "kedge.controller.server.producers._MANY": (0, 1),
    "kedge.controller.server.reading.BATCHES_MAX": (1, 2),
    "kedge.controller.server.transactions.MARKERS_MAX": (1, 2),
    "kedge.controller.state.columns.LATELY_MAX": (1, 2, 8),
    "kedge.controller.state.rows._STALE_MIN": (0, 1),
}


@contextmanager
def drawn(seed: int) -> Iterator[None]:
    """The limits of a seed, until the end of the block."""
    chance = random.Random(f"{seed}/bounds")
    before: list[tuple[ModuleType, str, int]] = []
    try:
        if chance.random() < 0.5:
            for path, values in BOUNDS.items():
                module, _, name = path.rpartition(".")
                place = import_module(module)
                before.append((place, name, getattr(place, name)))
                setattr(place, name, chance.choice((*values, before[-1][2])))
        yield
    finally:
        for place, name, value in before:
            setattr(place, name, value)
