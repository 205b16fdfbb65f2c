"""Which read-only partitions go offline now: their retention is over, or their leader reports an empty log.

A report counts if it is under the present leader epoch: read-only raised it, so the reported log takes no records any
more.
"""

from __future__ import annotations

from ...model.events import Decision, Event, RetirementOver, RetirementsDue
from ...model.reductions import READ_ONLY
from ...model.view import ClusterView
from .partitions import is_over


def retirements_due(view: ClusterView, event: RetirementsDue) -> Decision:
    due: list[Event] = []
    for name in view.reductions():
        for number, entry in sorted(view.reduction(name).items()):
            p = view.partition(name, number)
            if p is None or p.status_code != READ_ONLY:
                continue
            if (name, number, p.leader_epoch) in event.empty:
                due.append(RetirementOver(event.now_ms, name, number, p.leader_epoch))
            elif is_over(view, name, entry, event.now_ms):
                due.append(RetirementOver(event.now_ms, name, number))
    return Decision(expand=tuple(due))
