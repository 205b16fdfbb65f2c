"""The state of a controller as `Controller.describe()` returns it, from any thread."""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from .loop import Loop
from .registrar import Registrar


@attrs.frozen
class Description:
    """The state of a controller. `findings`: problems by key or subject, for people, including unreadable keys.
    `deleting_topics`: topics whose deletion is not complete; it waits for brokers that are down.
    `throttles_to_remove`: the "topics" and "brokers" whose throttles are removed when the last move has ended."""

    controller_id: int
    is_active: bool
    active_id: int | None
    controller_epoch: int | None
    live_brokers: tuple[int, ...]
    topics: int
    partitions: int
    reassigning_partitions: int
    replicas_to_delete: int
    waiting_requests: int
    findings: Mapping[str, str]
    deleting_topics: tuple[str, ...] = ()
    throttles_to_remove: Mapping[str, tuple[str, ...]] = attrs.field(factory=dict)


def describe(loop: Loop, registrar: Registrar) -> Description:
    """The state as of the last commit. Works on a stand-by too, and from any thread."""
    services = loop.services
    term, findings = loop.term, {**loop.findings, **registrar.findings}
    if loop.silence is not None:
        findings["store"] = f"does not answer{loop.silence and ': '}{loop.silence}"
    outstanding = len(services.outstanding)
    if term is None:
        nothing = (0, 0, 0, 0)  # topics, partitions, moves, deletions
        lead = (loop.is_active, loop.active_id, None)
        return Description(services.controller_id, *lead, (), *nothing, outstanding, findings)
    counts = term.counts
    findings |= {**term.findings, **term.reconcile.findings.as_dict()}
    findings |= {**term.dispatcher.findings, **counts.problems}
    if services.journal.stopped:
        findings["journal"] = services.journal.stopped
    return Description(
        services.controller_id,
        loop.is_active,
        loop.active_id,
        loop.controller_epoch,
        counts.live_brokers,
        counts.topics,
        counts.partitions,
        counts.moves,
        counts.intents,
        outstanding,
        findings,
        counts.deleting_topics,
        counts.throttles_to_remove,
    )
