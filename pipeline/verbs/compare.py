"""`kedge plan compare` and `list`: the plans of a snapshot as rows, to be shown side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import attrs

from ..stages.compare import row_of
from ..tables.arrow import Arrow, empty
from ..tables.declared import PLAN, WAVE, WAVE_REASON
from ..tables.files import EVERY, Place, Wanted
from .verb import Said, Tables, Told


@attrs.frozen
class Compare:
    """Reads the existing plans of these names, and writes nothing. None: every plan."""

    names: tuple[str, ...] | None

    title: ClassVar[str] = "comparing"
    wanted: ClassVar[Sequence[Wanted]] = ()

    @property
    def looked_at(self) -> Sequence[Wanted]:
        names = (EVERY,) if self.names is None else self.names
        return [Wanted(table, name) for table in (PLAN, WAVE, WAVE_REASON) for name in names]

    def run(self, place: Place, _: Tables, __: Told) -> Said:
        """`plans`: a row for each."""
        names = place.parts(PLAN) if self.names is None else self.names
        plans = {name: place.read(PLAN, name) for name in names if place.has(PLAN, name)}
        rows = [{**place.named, **row_of(plan, _waves(place, name, plan))} for name, plan in plans.items()]
        return Said({**place.named, "plans": rows}, ())


def _waves(place: Place, name: str, plan: Arrow) -> Arrow | None:
    """None if it has no waves; a plan that moves nothing counts as having an empty table."""
    if place.has(WAVE, name):
        return place.read(WAVE, name)
    return None if any(plan["partitions_changed"].to_pylist()) else empty(WAVE)
