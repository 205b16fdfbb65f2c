"""What must hold during and after a deletion: the keys are deleted in their order, and nothing is left anywhere.

7. A topic's key is deleted only when no broker has a log of it, except brokers that were forgotten. (Each commit.)
7. A partition is removed by a reduction only when it is offline, or was never led, and no broker has a log of it. (Each
   commit.)
8. State keys are deleted only under the key that requests the deletion, and before the topic's key; that is deleted
   before the requesting key. In the end no key names a topic that does not exist, and no broker has a log of one. (Each
   commit, the end.)

A broker is forgotten only by request, and is not registered when its key is deleted; a new broker with its id has no
logs that are missing in the store (7, 8, as for any other).
"""

from __future__ import annotations

from collections.abc import Callable

from ...stores.base import Delete, Put
from ..codec import keys
from ..codec import topic as topic_codec
from ..model.values import TopicPartition
from .committed import CommittedTree
from .parts import Parts
from .server import Committed

Require = Callable[[object, int, str], None]


def check_deletes(commit: Committed, committed: CommittedTree, rig: Parts, require: Require) -> None:
    """Before `commit` is taken in: its deletions are allowed now."""
    gone = {op.key for op in commit.ops if isinstance(op, Delete)}
    for key in gone:
        of, name = keys.partition_of(key), keys.topic_of(key)
        if of is not None and of[0] not in committed.deleting:
            _purged(TopicPartition(*of), commit, committed, rig, require)
        elif of is not None:
            require(of[0] in committed.deleting, 8, f"{key} is deleted without a request")
        elif name is not None:
            require(name in committed.deleting, 8, f"{key} is deleted without a request")
            left = [tp for tp in committed.states_of(name) if keys.state(*tp) not in gone]
            require(not left, 8, f"{key} is deleted before the state keys of {left}")
            _held_by_nobody(committed, rig, name, require)
        elif key.startswith(keys.DELETE_TOPICS + "/"):
            topic = key.rpartition("/")[2]
            is_gone = topic not in committed.topics or keys.topic(topic) in gone
            require(is_gone or not rig.settings.delete_topic_enable, 8, f"{key} is deleted before its topic")
        elif key.startswith(keys.DELETE_PARTITIONS + "/"):
            topic = key.rpartition("/")[2]
            # Excluded are partitions whose state could not be read: the controller writes the key again once it has
            # read them, which after a takeover is some time after they were mended.
            unread = committed.unreadable | committed.found_blind
            of_topic = [p for at, p in committed.partitions.items() if at.topic == topic and p.status_code]
            going = [p.tp for p in of_topic if keys.state(topic, p.partition) not in unread]
            require(not going or keys.topic(topic) in gone, 8, f"{key} is deleted before {going}")
        elif key.startswith(keys.ADMITTED + "/"):
            broker = int(key.rpartition("/")[2])
            require(broker in rig.operators.asked_to_forget, 7, f"broker {broker} is forgotten without a request")
            rig.operators.forgotten.add(
                broker
            )  # the request may be older than a later life of the broker, and is decided now
            require(keys.broker(broker) not in rig.server.table.rows, 7, f"broker {broker} is forgotten while it lives")


def _purged(tp: TopicPartition, commit: Committed, committed: CommittedTree, rig: Parts, require: Require) -> None:
    """The last partition of a topic, in the commit that removes it from the topic's key and keeps its leader epoch."""
    topic, partition = committed.topic(tp.topic), committed.partitions.get(tp)
    require(tp.partition in committed.reductions_lately.get(tp.topic, ()), 8, f"{tp} is removed without a request")
    if topic is None or partition is None:
        return
    require(partition.is_offline, 8, f"{tp} is removed with the status {partition.status_code}")
    written = [op.value for op in commit.ops if isinstance(op, Put) and op.key == keys.topic(tp.topic)]
    require(written, 8, f"{tp} is removed, but its topic still lists it")
    left = topic_codec.decode(written[0], tp.topic)
    require(len(left.assignments) <= tp.partition, 8, f"{tp} is removed, but its topic still lists it")
    retired = left.topic.retired_epochs.get(tp.partition)
    require(retired == partition.leader_epoch, 8, f"{tp} is removed at {partition.leader_epoch}, {retired} is kept")
    for broker in rig.brokers.values():
        held = (topic.topic_id, tp.partition) in broker.replicas and broker.broker_id not in rig.operators.forgotten
        require(not held, 7, f"{tp} is removed while broker {broker.broker_id} has a log of it")


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


def _held_by_nobody(committed: CommittedTree, rig: Parts, name: str, require: Require) -> None:
    topic = committed.topic(name)
    for broker in rig.brokers.values():
        held = [place for place in broker.replicas if topic is not None and place[0] == topic.topic_id]
        is_forgotten = broker.broker_id in rig.operators.forgotten
        require(is_forgotten or not held, 7, f"{name} is deleted while broker {broker.broker_id} has {held}")


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
