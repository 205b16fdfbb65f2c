"""What a load hands to the term that begins with it."""

from __future__ import annotations

import attrs

from controller.model.events import Event
from controller.runtime.findings import Findings
from controller.runtime.presence import Registrations
from controller.state import ClusterState


@attrs.define
class Loaded:
    """The state of a term as it begins, and what there is to do; what is wrong with keys. `first`: decided before
    `events`, before any request, and before leader epochs are raised."""

    state: ClusterState
    first: list[Event]
    events: list[Event]
    registered: Registrations
    intents_seq_max: int
    findings: Findings
