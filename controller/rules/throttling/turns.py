"""Whose turn it is: requests for throttles are done one after the other, and none while throttles are removed; nor are
throttles removed in the middle of a request, or of another removal.
"""

from __future__ import annotations

from controller.model.events import Event, ReassignPartitions, ThrottleRemovalDue, ThrottleRequest
from controller.model.view import ClusterView


def must_wait(view: ClusterView, event: Event) -> bool:
    """Whether `event` is to be decided later: another one has its turn."""
    request = view.throttles.request
    if isinstance(event, ThrottleRemovalDue):
        return view.throttles.is_removing or request is not None  # what runs may have passed over somebody
    if not isinstance(event, ThrottleRequest) or not event.sets_throttles:
        return False
    if isinstance(event, ReassignPartitions) and request is not None:
        return not request.is_reassignment  # else it is refused
    return view.throttles.is_removing or request is not None
