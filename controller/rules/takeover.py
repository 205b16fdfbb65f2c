"""What a takeover finds in the store, and continues before anything else is decided."""

from __future__ import annotations

import attrs

from ..model.events import Event, ReductionDue, ReductionKeyRead
from ..model.view import ClusterView
from .deletion import is_begun
from .reduction.keys import refusal


def died(view: ClusterView) -> dict[int, int]:
    """The brokers that partitions name and that are not live, since they died or restarted meanwhile: id -> epoch."""
    named = sorted({*view.brokers_named(), *view.admitted_brokers()})
    return {
        broker: view.admitted_epoch(broker) or 0
        for broker in named
        if broker not in view.brokers and broker not in view.unread
    }


def deletion_goes_on(view: ClusterView, name: str) -> bool:
    """Whether the deletion of a known topic continues: in any case if it has begun."""
    return view.settings.delete_topic_enable or is_begun(view, name)


def reduction_found(view: ClusterView, read: ReductionKeyRead) -> tuple[ReductionKeyRead | None, list[Event]]:
    """The part of a reduction's key that is in force from the start (None: nothing), and the events to decide."""
    if view.is_deleting(read.topic):
        return attrs.evolve(read, entries={}, extra=None), []
    if view.topic(read.topic) is None or not read.entries or refusal(view, read) is not None:
        return None, [read]
    return read, [ReductionDue(read.now_ms, read.topic, is_found=True)]
