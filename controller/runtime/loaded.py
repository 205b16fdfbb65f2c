"""What a load hands to the term that begins with it."""

from __future__ import annotations

import attrs

from controller.keys.table import KeyKinds
from controller.model.events import Event, Group
from controller.state import ClusterState


@attrs.define
class Loaded:
    """The kinds of keys of a term as it begins, and what there is to do. `first`: decided before `events`, before any
    request, and before leader epochs are raised."""

    kinds: KeyKinds
    first: list[Event] = attrs.field(factory=list)
    events: list[Event | Group] = attrs.field(factory=list)

    @property
    def state(self) -> ClusterState:
        """What was loaded."""
        return self.kinds.state
