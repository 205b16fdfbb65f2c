"""The end of partitions: from the highest id down. One Decision takes as many as fit into a commit, since each writes
the topic's key, which holds the whole topic.

All intents of a partition must be closed, also those of former members: a new partition may get the id with new
replicas, which no old request may reach.
"""

from __future__ import annotations

from collections.abc import Iterable

import attrs

from ...model.events import Decision, Event, PurgeDue, ReductionKeyDue
from ...model.values import NO_EPOCH, DeleteIntent, Partition, Topic
from ...model.view import ClusterView
from ...records import PartitionPurged, TopicChanged

_KEYS_EACH = 2  # the state key, and its parent in stores that have parents
_CHUNK_MAX = 60  # limits their bytes beside the key of a large topic


def purge_due(view: ClusterView, event: PurgeDue) -> Decision:
    """Purge the last partitions whose logs are deleted. When no more can be purged now, the key of the reduction
    follows."""
    topic = view.topic(event.topic)
    if topic is None or view.is_deleting(event.topic):
        return Decision()
    most = min(_CHUNK_MAX, max(1, (view.keys_at_once - 1) // _KEYS_EACH))
    ready = _last_ones(view, topic, most + 1)
    gone = ready[:most]
    if not gone:
        return Decision()
    retired = {**topic.retired_epochs}
    for p in gone:
        if p.leader_epoch != NO_EPOCH:
            retired[p.partition] = max(p.leader_epoch, retired.get(p.partition, NO_EPOCH))
    moves = {p: move for p, move in topic.kafka_moves.items() if p < gone[-1].partition}
    after = attrs.evolve(topic, retired_epochs=retired, kafka_moves=moves)
    changed = TopicChanged(after, "partitions purged", ours=True)
    follow: Event = ReductionKeyDue(event.now_ms, topic.name)
    if len(ready) > most:
        follow = PurgeDue(event.now_ms, topic.name)
    return Decision((changed, *map(PartitionPurged, gone)), expand=(follow,))


def _last_ones(view: ClusterView, topic: Topic, most: int) -> list[Partition]:
    entries, found = view.reduction(topic.name), list[Partition]()
    for number in range(view.partition_count(topic.name) - 1, 0, -1):
        p = view.partition(topic.name, number)
        if p is None or number not in entries or len(found) == most or not _is_gone(view, topic, p):
            break
        found.append(p)
    return found


def _is_gone(view: ClusterView, topic: Topic, p: Partition) -> bool:
    if view.unreadable(p.topic, p.partition) or view.open_intents_of_partition(topic.topic_id, p.partition):
        return False
    return p.are_holders_told or not p.has_state


def purges_due(view: ClusterView, closed: Iterable[DeleteIntent], now_ms: int) -> tuple[Event, ...]:
    """Events when these open intents are closed: partitions that waited for them may be purged."""
    names = dict.fromkeys(intent.topic for intent in closed if view.reduction(intent.topic))
    return tuple(PurgeDue(now_ms, name) for name in names)
