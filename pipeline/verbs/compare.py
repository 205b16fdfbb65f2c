"""`kedge plan compare`: the plans of a snapshot as rows, to be laid side by side."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from pipeline.stages.compare import row_of
from pipeline.tables.declared import PLAN, WAVE
from pipeline.tables.files import Place, Wanted
from pipeline.verbs.verb import Said, Tables, Told


@attrs.frozen
class Compare:
    """Reads the plans of these names, as far as they are there, and writes nothing."""

    names: tuple[str, ...]

    @property
    def title(self) -> str:
        return "comparing"

    @property
    def wanted(self) -> Sequence[Wanted]:
        return ()

    def run(self, place: Place, _: Tables, __: Told) -> Said:
        """`plans`: a row for each."""
        named = {"cluster": place.cluster, "snapshot": place.snapshot}
        waves = {name: place.read(WAVE, name) if place.has(WAVE, name) else None for name in self.names}
        plans = [
            {**named, **row_of(place.read(PLAN, name), waves[name])} for name in self.names if place.has(PLAN, name)
        ]
        return Said({**named, "plans": plans}, ())
