"""Throttles in a rig: the settings, the marks, and what an operator sets by hand.

Once nothing is being reassigned and nothing is marked any more, there is a throttle only where an operator set one,
with the last value (of a list of replicas, its elements). Which ones are an operator's: `operators`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

from controller.codec import keys
from controller.model.throttles import MarkKind
from controller.rig.operators import MARKS
from controller.rig.parts import Parts
from controller.rig.server import write

THEIR_RATES: Final = ("770000", "7700000")  # no request uses these; fast enough for all to catch up
THEIR_ELEMENTS: Final = ("90:90", "91:91")


def is_marked(rig: Parts) -> bool:
    """Whether a throttle is marked for removal."""
    return any(key in rig.server.table.rows for key in MARKS)


def _key(kind: MarkKind, name: str) -> str:
    return keys.topic_config(name) if kind == "topics" else keys.broker_config(name)


def configs(rig: Parts, kind: MarkKind, name: str) -> dict[str, str]:
    """The own settings of a topic or a broker, in the store."""
    row = rig.server.table.rows.get(_key(kind, name))
    return {} if row is None else dict(json.loads(row[0])["config"])


def set_by_hand(rig: Parts, kind: MarkKind, name: str, values: Mapping[str, str | None]) -> None:
    """An operator sets these configs (None: deletes), and leaves the others as they are."""
    after = {config: value for config, value in configs(rig, kind, name).items() if config not in values}
    after |= {config: value for config, value in values.items() if value is not None}
    write(rig.server, _key(kind, name), json.dumps({"version": 1, "config": after}).encode())
