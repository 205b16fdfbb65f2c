"""What is made of the journal of one cluster, for both engines."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

import attrs

from ..errors import BadInput
from ..journal.files import NoJournal
from ..journal.lines import Event
from ..journal.results import Rows
from ..tables.arrow import Arrow, from_rows
from ..tables.schema import Table

CLUSTER: Final = "cluster"
TAKEOVER: Final = "Takeover"


@attrs.frozen
class Fold:
    """`run`: from the name of a cluster, the Takeovers in its journal, and its events in order, to rows. `makes`: the
    tables of these rows."""

    run: Callable[[str, Iterable[Event], Iterable[Event]], Rows]
    makes: tuple[Table, ...]

    @property
    def tables(self) -> list[Table]:
        """Those of the result, which all have the cluster."""
        cluster = (CLUSTER, "string", False)
        return [attrs.evolve(one, columns=(cluster, *_without_cluster(one))) for one in self.makes]

    def __call__(self, cluster: str, takeovers: Iterable[Event], events: Iterable[Event]) -> list[Arrow]:
        """Raises BadInput if there is no line of a journal."""
        try:
            rows = self.run(cluster, takeovers, events)
        except NoJournal:
            raise BadInput(f"cluster {cluster}: its rows hold no whole commit") from None
        found = []
        for made, table in zip(self.makes, self.tables, strict=True):
            own = rows[made] if made.names[0] == CLUSTER else [(cluster, *row) for row in rows[made]]
            found.append(from_rows(table, own))
        return found


def _without_cluster(table: Table) -> Iterable[tuple[str, str, bool]]:
    return (column for column in table.columns if column[0] != CLUSTER)
