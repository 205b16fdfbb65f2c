"""Turns: requests for throttles are carried out one after the other, and not during a removal of throttles; a removal
does not run during a request or another removal.
"""

from __future__ import annotations

from ...model.events import Event, ReassignPartitions, ThrottleRemovalDue, ThrottleRequest
from ...model.view import ClusterView


def must_wait(view: ClusterView, event: Event) -> bool:
    """Whether `event` must be decided later, because another request or removal is running."""
    request = view.throttles.request
    if isinstance(event, ThrottleRemovalDue):
        return view.throttles.is_removing or request is not None  # the running one may have skipped an owner
    if not isinstance(event, ThrottleRequest) or not event.sets_throttles:
        return False
    if isinstance(event, ReassignPartitions) and request is not None:
        return not request.is_reassignment  # otherwise it is refused
    return view.throttles.is_removing or request is not None
