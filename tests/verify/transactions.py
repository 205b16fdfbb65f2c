"""A seeded run of transactions: workers that die, coordinators and leaders that move. What must hold is in
`tests.transactions.seeds`."""

from __future__ import annotations

import traceback
from typing import Final

from tests.transactions.seeds import Seed
from tests.verify.explore import Run

MISHAPS: Final = 25


def run_seed(seed: int, mishaps: int = MISHAPS) -> Run:
    """Run it to its end. All that goes wrong is in the result."""
    tried = Seed(seed)
    error = None
    try:
        tried.run(mishaps)
    except Exception:  # noqa: BLE001 - a broken rule is a result, not an end
        error = traceback.format_exc()
    timeline, done = tried.rig.timeline, sum(tried.places.values())
    return Run(seed, error, timeline.trace, mishaps, done, len(tried.places), tuple(timeline.lines()))
