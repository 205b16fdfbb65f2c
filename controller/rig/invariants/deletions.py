"""What must hold during a deletion (7, 8): the keys are deleted in their order, and no broker keeps a log.

* A topic's key is deleted only when no broker has a log of it, except brokers that were forgotten. State keys are
  deleted only under the key that requests the deletion, and before the topic's key; that is deleted before the
  requesting key.
* A partition is removed by a reduction only when it is offline, or was never led, and no broker has a log of it.
* A broker is forgotten only by request, and is not registered when its key is deleted.
"""

from __future__ import annotations

from ....stores.base import Delete, Put
from ...codec import keys
from ...codec import topic as topic_codec
from ...model.values import TopicPartition
from ..server import Committed
from .case import Rules


class DeletionRules(Rules):
    def check(self, commit: Committed) -> None:
        """The deletions of `commit`, which is not taken in yet, are allowed now."""
        committed = self.committed
        gone = {op.key for op in commit.ops if isinstance(op, Delete)}
        for key in gone:
            of, name, last = keys.partition_of(key), keys.topic_of(key), key.rpartition("/")[2]
            if of is not None:
                if of[0] not in committed.deleting:
                    self._purged(TopicPartition(*of), commit)
            elif name is not None:
                self.require(name in committed.deleting, 8, f"{key} is deleted without a request")
                left = [tp for tp in committed.states_of(name) if keys.state(*tp) not in gone]
                self.require(not left, 8, f"{key} is deleted before the state keys of {left}")
                self._held_by_nobody(name)
            elif key.startswith(keys.DELETE_TOPICS + "/"):
                is_gone = last not in committed.topics or keys.topic(last) in gone
                is_enabled = self.rig.settings.delete_topic_enable
                self.require(is_gone or not is_enabled, 8, f"{key} is deleted before its topic")
            elif key.startswith(keys.DELETE_PARTITIONS + "/"):
                # Excluded are partitions whose state could not be read: the controller writes the key again once it has
                # read them, which after a takeover is some time after they were mended.
                unread = committed.unreadable | committed.found_blind
                of_topic = [p for at, p in committed.partitions.items() if at.topic == last and p.status_code]
                going = [p.tp for p in of_topic if keys.state(last, p.partition) not in unread]
                self.require(not going or keys.topic(last) in gone, 8, f"{key} is deleted before {going}")
            elif key.startswith(keys.ADMITTED + "/"):
                self._forgotten(int(last))

    def _forgotten(self, broker: int) -> None:
        operators = self.rig.operators
        self.require(broker in operators.asked_to_forget, 7, f"broker {broker} is forgotten without a request")
        operators.forgotten.add(broker)  # the request may be older than a later life of the broker
        key = keys.broker(broker)  # a later commit may register it again, and the end of a session is none
        is_registered = key in self.committed.present and key in self.rig.server.table.rows
        self.require(not is_registered, 7, f"broker {broker} is forgotten while it lives")

    def _purged(self, tp: TopicPartition, commit: Committed) -> None:
        """`commit` removes the last partition of a topic from the topic's key, and keeps its leader epoch."""
        topic, partition = self.committed.topic(tp.topic), self.committed.partitions.get(tp)
        requested = self.committed.reductions_lately.get(tp.topic, ())
        self.require(tp.partition in requested, 8, f"{tp} is removed without a request")
        if topic is None or partition is None:
            return
        self.require(partition.is_offline, 8, f"{tp} is removed with the status {partition.status_code}")
        written = [op.value for op in commit.ops if isinstance(op, Put) and op.key == keys.topic(tp.topic)]
        self.require(written, 8, f"{tp} is removed, but its topic still lists it")
        left = topic_codec.decode(written[0], tp.topic)
        self.require(len(left.assignments) <= tp.partition, 8, f"{tp} is removed, but its topic still lists it")
        epoch, retired = partition.leader_epoch, left.topic.retired_epochs.get(tp.partition)
        self.require(retired == epoch, 8, f"{tp} is removed at {epoch}, {retired} is kept")
        for broker_id, broker in self.rig.brokers.items():
            held = (topic.topic_id, tp.partition) in broker.replicas and broker_id not in self.rig.operators.forgotten
            self.require(not held, 7, f"{tp} is removed while broker {broker_id} has a log of it")

    def _held_by_nobody(self, name: str) -> None:
        topic = self.committed.topic(name)
        for broker in self.rig.brokers.values():
            held = [place for place in broker.replicas if topic is not None and place[0] == topic.topic_id]
            is_forgotten = broker.broker_id in self.rig.operators.forgotten
            self.require(is_forgotten or not held, 7, f"{name} is deleted while broker {broker.broker_id} has {held}")
