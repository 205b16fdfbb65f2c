"""`kedge plan collect --landing`: the files of a cluster as tables, validated and loaded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import attrs

from ..collect.landing import Landing
from ..collect.sources import Of
from ..tables.files import Place, Wanted
from .load import Load
from .verb import Said, Tables, Told


@attrs.frozen
class Collect:
    """The snapshot is as old as the last of its files, and so are metrics without a time of their own."""

    landing: Landing
    dry_run: bool = False

    title: ClassVar[str] = "collecting"
    wanted: ClassVar[Sequence[Wanted]] = ()

    def run(self, place: Place, _: Tables, told: Told) -> Said:
        """Exit code 1 if rows are rejected."""
        taken_at = self.landing.taken_at(place)
        gathered = self.landing.read(place, Of(taken_at, place.cluster))
        load = Load(self.dry_run, notes=tuple(gathered.notes), taken_at=taken_at)
        return load.run(place, gathered.tables(), told)
