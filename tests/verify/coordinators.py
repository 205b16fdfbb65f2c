"""Seeded runs of what coordinators keep: consumer groups and transactions, with `__consumer_offsets` and
`__transaction_state` compacted every few commits. What must hold is in `tests.groups.seeds` and
`tests.transactions.seeds`."""

from __future__ import annotations

import traceback
from typing import Final

from tests.groups.consumer_seeds import Seed as Consumers
from tests.groups.seeds import Seed as Groups
from tests.transactions.seeds import Seed as Transactions
from tests.verify.bounds import drawn
from tests.verify.explore import Run

MISHAPS: Final = 25
KINDS: Final[dict[str, type[Groups | Transactions]]] = {
    "groups": Groups,
    "consumers": Consumers,
    "transactions": Transactions,
}


def run_seed(kind: str, seed: int, mishaps: int = MISHAPS) -> Run:
    """Run it to its end. All that goes wrong is in the result."""
    tried = KINDS[kind](seed)
    error = None
    try:
        with drawn(seed):
            tried.run(mishaps)
    except Exception:  # noqa: BLE001 - a broken rule is a result, not an end
        error = traceback.format_exc()
    timeline = tried.rig.timeline
    return Run(seed, error, timeline.trace, mishaps, *tried.counts, tuple(timeline.lines()))
