"""What is left of topics, partitions and reductions that do not exist (any more): in the end nothing may be."""

from __future__ import annotations

from ..codec import keys
from ..model.values import TopicPartition
from .parts import Parts


def unpurged(rig: Parts) -> list[str]:
    """Partitions that should be gone by now, one line each; and keys of reductions that name none."""
    committed, found = rig.committed, []
    for name, entries in committed.reducing.items():
        key = committed.topics.get(name)
        count = 0 if key is None else len(key.assignments)
        if name not in committed.deleting and not any(p < count for p in entries):
            found.append(f"{keys.delete_partitions(name)} names no existing partition")
        last = committed.partitions.get(TopicPartition(name, count - 1))
        if name not in committed.deleting and last is not None and last.is_offline:
            found.append(f"{last.tp} is offline, and not removed")
        waits = [
            p
            for p, one in entries.items()
            if (of := committed.partitions.get(TopicPartition(name, p)))
            and not (of.status_code == 1 if one.immediate else of.status_code)
        ]
        found += [f"{name}-{p} does not have the requested status" for p in waits if name not in committed.deleting]
    return found


def left_over(rig: Parts) -> list[str]:
    """What is left of topics that do not exist (any more), one line each."""
    committed, found = rig.committed, []
    for key in rig.server.table.rows:
        parts = key.split("/")
        if key.startswith((keys.TOPICS + "/", keys.CONFIG_TOPICS + "/")) and parts[3] not in committed.topics:
            found.append(f"{key} is left of a topic that does not exist")
        elif key.startswith(keys.DELETE_TOPICS + "/"):
            found.append(f"{key}: a topic is being deleted")
    ids = {topic.topic.topic_id: len(topic.assignments) for topic in committed.topics.values()}
    for broker in rig.brokers.values():
        if broker.broker_id in rig.operators.forgotten:
            continue
        held = [f"{r.topic}-{r.partition}" for place, r in broker.replicas.items() if place[1] >= ids.get(place[0], 0)]
        found += [f"broker {broker.broker_id} has {tp} of a topic that does not exist" for tp in held]
        if broker.is_up:
            known = [tp for tp in broker.metadata if tp not in committed.partitions]
            found += [f"broker {broker.broker_id} knows {tp}, which does not exist" for tp in known]
    return found
