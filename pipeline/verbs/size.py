"""`kedge plan size`: how many brokers of which kind are needed in each rack, and which could go."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import attrs

from ..cautions import of_check, of_unknown_disks
from ..stages.arrays import Limits, defaulted
from ..stages.sizing import sizing
from ..tables.declared import BROKER_DEFAULT, SNAPSHOT
from ..tables.files import Place, Wanted, wanted
from .verb import Said, Tables, Told


@attrs.frozen
class Size:
    """Reads a snapshot, and writes nothing. The options are those of `kedge.pipeline.stages.sizing.sizing`."""

    limits: Limits
    growth: float = 1.0
    ignore_racks: bool = False

    title: ClassVar[str] = "sizing"
    wanted: ClassVar[Sequence[Wanted]] = (*wanted(*SNAPSHOT), *wanted(BROKER_DEFAULT, optional=True))

    def run(self, place: Place, given: Tables, _: Told) -> Said:
        """Exit code 1 if a rack lacks brokers."""
        found = sizing(given, limits=self.limits, growth=self.growth, ignore_racks=self.ignore_racks)
        row = {**place.named, "growth": self.growth, **attrs.asdict(self.limits), **found, "notes": _notes(given)}
        lacks = any(kind["missing"] for rack in found["racks"] for kind in rack["kinds"])
        return Said(row, (), 1 if lacks else 0)


def _notes(given: Tables) -> list[str]:
    brokers = defaulted(given["broker"], given.get("broker_default")).to_pylist()
    nulls = {name: given["replica_load"].column(name).null_count for name in ("size_bytes", "write_bps")}
    networks = any(row["nw_in_capacity_bps"] or row["nw_out_capacity_bps"] for row in brokers)
    found = of_check(unsized=nulls["size_bytes"], unrated=nulls["write_bps"], has_disks=True, has_networks=networks)
    return of_unknown_disks(brokers, networks=networks) + found
