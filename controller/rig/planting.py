"""A rig that begins with a tree: the keys are planted, and the brokers get the logs that belong to it."""

from __future__ import annotations

from collections.abc import Iterable

from ...stores.memory import MemoryServer
from ...stores.tree import TreeEntry
from ..codec import keys, partition_state
from ..codec import topic as topic_codec
from ..codec.text import parse
from ..model.values import Partition, TopicPartition
from ..simulated.log import Run
from ..simulated.replica import Replica
from .parts import Parts


def plant(rig: Parts, tree: Iterable[TreeEntry] | MemoryServer, records: int) -> None:
    """Write `tree` to the store, without ephemeral keys; replicas in sync get `records` records each."""
    entries = list(_entries(tree))
    rig.server.plant(entries)
    values = {entry.key: entry.value for entry in entries if entry.value is not None}
    for key, value in values.items():
        name = keys.topic_of(key)
        if name is None:
            continue
        found = topic_codec.decode(value, name)
        for number, replicas in enumerate(found.assignments):
            if removing := found.removing.get(number, ()):
                target = tuple(broker for broker in replicas if broker not in removing)
                rig.asked_targets.setdefault(TopicPartition(name, number), set()).add(target)
            state = values.get(keys.state(name, number))
            if state is not None:
                partition = partition_state.decode(parse(state), name, number, replicas, 0)
                _logs(rig, partition, found.topic.topic_id, records)


def _logs(rig: Parts, partition: Partition, topic_id: str, records: int) -> None:
    first_id = rig.producers.new_ids(partition.tp, records)
    for broker_id in partition.members:
        broker = rig.brokers.get(broker_id)
        if broker is None:
            continue
        replica = Replica(broker_id, partition.topic, topic_id, partition.partition)
        if broker_id in partition.isr and records:
            replica.log.append([Run(0, records, partition.leader_epoch, first_id, rig.record_bytes)])
            replica.log.high_watermark = records
        broker.replicas[topic_id, partition.partition] = replica
    if records:
        rig.producers.believe_acknowledged(
            partition.tp, Run(0, records, partition.leader_epoch, first_id, rig.record_bytes)
        )


def _entries(tree: Iterable[TreeEntry] | MemoryServer) -> Iterable[TreeEntry]:
    if not isinstance(tree, MemoryServer):
        return tree
    rows = sorted(tree.table.rows.items())
    return (TreeEntry(key, row[0], row[2]) for key, row in rows if row[4] is None)
