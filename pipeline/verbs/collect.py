"""`kedge plan collect`: what was collected as tables, validated and loaded."""

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
    """Files in a landing folder. The snapshot is as old as the last of them, and so are metrics without a time."""

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


@attrs.frozen
class Keep:
    """Tables of one snapshot that were read before."""

    load: Load
    tables: Tables = attrs.field(eq=False, repr=False)

    title: ClassVar[str] = "loading"
    wanted: ClassVar[Sequence[Wanted]] = ()

    def run(self, place: Place, _: Tables, told: Told) -> Said:
        """Exit code 1 if rows are rejected."""
        return self.load.run(place, self.tables, told)
