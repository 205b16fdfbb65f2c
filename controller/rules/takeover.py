"""What a takeover finds in the store, and goes on with before anything else is decided."""

from __future__ import annotations

import attrs

from controller.model.events import Event, ReductionDue, ReductionKeyRead
from controller.model.records import UNREAD
from controller.model.view import ClusterView
from controller.rules.deletion import has_stopped, is_begun
from controller.rules.reduction.keys import refusal


def died(view: ClusterView) -> dict[int, int]:
    """Whoever is named by a partition and not live died while nobody looked, or bounced: id -> the epoch that died."""
    named = sorted({*view.brokers_named(), *view.admitted_brokers()})
    return {
        broker: view.admitted_epoch(broker) or 0
        for broker in named
        if broker not in view.brokers and broker not in view.unread
    }


def deletion_goes_on(view: ClusterView, name: str) -> bool:
    """Whether the deletion of a known topic goes on: what was begun does, at any rate; of the others those that can be
    ended."""
    numbers = range(view.partition_count(name))
    if any(view.key_version(name, number).version == UNREAD for number in numbers):
        return has_stopped(view, name)
    return view.settings.delete_topic_enable or is_begun(view, name)


def reduction_found(view: ClusterView, read: ReductionKeyRead) -> tuple[ReductionKeyRead | None, list[Event]]:
    """What of a reduction's key is in force from the beginning (None: nothing), and what is to be decided."""
    if view.is_deleting(read.topic):
        return attrs.evolve(read, entries={}, extra=None), []
    if view.topic(read.topic) is None or not read.entries or refusal(view, read) is not None:
        return None, [read]
    return read, [ReductionDue(read.now_ms, read.topic, is_found=True)]
