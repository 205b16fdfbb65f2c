"""The rules for callbacks: only what is committed is sent (9), no member gets a request to delete (4)."""

from __future__ import annotations

from ...model.host import LeaderAndIsrPartition, PartitionMetadata, StopReplicaRequest
from ...model.values import LEADER_DURING_DELETE, Partition, TopicPartition
from ...simulated.network import Sent
from .case import Rules, words


class CallbackRules(Rules):
    def check(self, sent: Sent) -> None:
        """Raises InvariantBroken."""
        request = sent.request
        if isinstance(request, StopReplicaRequest):
            self._deletes(sent, request)
            return
        if request.full and request.controller_epoch == self.committed.controller_epoch:
            self.require(not self.committed.blind, 10, f"full, and {self.committed.blind} cannot be read: {sent}")
        for said in request.partitions:
            self.require(self._was_committed(sent, said), 9, f"sent and not committed: {said}")

    def _was_committed(self, sent: Sent, said: LeaderAndIsrPartition | PartitionMetadata) -> bool:
        for moment in reversed(self.committed.history.get(TopicPartition(said.topic, said.partition), [])):
            p = moment.partition
            is_offline = p.is_offline and moment.revision <= sent.revision
            if said.leader == LEADER_DURING_DELETE and is_offline and said.leader_epoch == p.leader_epoch:
                return True  # purged; its id may have been used again since
            # Another program may write anything to the state key of a topic under deletion: it is only deleted.
            same_epoch = moment.partition_epoch == said.partition_epoch or said.topic_id in self.committed.doomed
            if same_epoch and moment.revision <= sent.revision:
                told = (said.leader, said.leader_epoch, said.isr, set(said.replicas))
                if told == (p.leader, p.leader_epoch, p.isr, set(p.replicas)):
                    return not isinstance(said, LeaderAndIsrPartition) or self._is_target(said, p)
        return False

    def _is_target(self, said: LeaderAndIsrPartition, partition: Partition) -> bool:
        if said.target_replicas is None and self.rig.has_old_versions:
            return True
        return said.target_replicas == partition.target_replicas

    def _deletes(self, sent: Sent, request: StopReplicaRequest) -> None:
        # A controller that was deposed meanwhile knows the state before the next epoch began, no more.
        known = min(sent.revision, self.committed.epoch_ends.get(request.controller_epoch, sent.revision))
        for said in request.partitions:
            tp = TopicPartition(said.topic, said.partition)
            moment = self.committed.at(tp, known)
            topic = self.committed.topic(said.topic)
            if moment is None or topic is None or topic.topic_id != said.topic_id:
                continue
            member = sent.broker_id in moment.partition.members
            if moment.partition.is_offline:
                continue
            if said.topic_id in self.committed.doomed:
                moves = member and moment.partition.move is not None
                self.require(not moves, 4, f"{tp}: {sent.broker_id} gets a request to delete while it moves")
                continue
            self.require(
                not member, 4, f"{tp}: {sent.broker_id} gets a request to delete, member of {words(moment.partition)}"
            )
