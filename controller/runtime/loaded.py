"""The result of a load, with which a term begins."""

from __future__ import annotations

import attrs

from ..keys.table import KeyKinds
from ..model.events import Event, Group
from ..state import ClusterState


@attrs.define
class Loaded:
    """The kinds of keys of a new term, and the events to decide. `first`: decided before `events` and before
    any request."""

    kinds: KeyKinds
    first: list[Event] = attrs.field(factory=list)
    events: list[Event | Group] = attrs.field(factory=list)

    @property
    def state(self) -> ClusterState:
        return self.kinds.state
