"""The violations of a snapshot before a plan, and those that are left after it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ..tables.arrow import Arrow
from .added import with_planned
from .apply import apply
from .arrays import Limits
from .check import check
from .requests import KINDS, BalanceDisks, settings_of

AFTER: Final = "violation_after"


def outlook(tables: Mapping[str, Arrow]) -> dict[str, Arrow]:
    """The tables `violation` and `violation_after`, with the limits of the plan in `tables`, and `broker` with the
    brokers that it adds."""
    (said,) = tables["plan"].to_pylist()
    settings = settings_of(said)
    limits = Limits(settings["disk_share"], settings["network_share"])
    ignore_racks = settings["ignore_racks"]
    left_out = any(settings[name] for name in ("topics", "exclude_topics", "min_size", "max_size"))
    factor = None if left_out else settings.get("factor")
    broker = with_planned(tables)
    within = said["kind"] == KINDS[BalanceDisks]  # no row changes
    after = tables["partition"] if within else apply(tables["partition"], tables["plan_move"])
    found = {
        name: check(
            {**tables, "broker": broker, "partition": partition},
            limits=limits,
            factor=factor,
            ignore_racks=ignore_racks,
            min_racks=settings["min_racks"],
        )
        for name, partition in (("violation", tables["partition"]), (AFTER, after))
    }
    return {**found, "broker": broker}
