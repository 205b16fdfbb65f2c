"""A seeded run of consumer groups: members that come and die, coordinators that move, and `__consumer_offsets`, which
is compacted every few commits. What must hold is in `tests.groups.seeds`."""

from __future__ import annotations

import traceback
from typing import Final

from tests.groups.seeds import Seed
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
    timeline = tried.rig.timeline
    return Run(seed, error, timeline.trace, mishaps, tried.commits, len(tried.acknowledged), tuple(timeline.lines()))
