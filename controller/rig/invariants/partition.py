"""The rules for one change of one partition: numbers 1 to 4 and 8, and 5 for its leader epoch."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from ...codec import keys
from ...model.reductions import OFFLINE, ONLINE, READ_ONLY
from ...model.values import LEADER_DURING_DELETE, NO_EPOCH, NO_LEADER, Partition, Replicas, TopicPartition
from ...rules.leader_election import UNCLEAN
from ...rules.reduction.configs import RETENTION_MS
from ...simulated.replica import IsrAsked
from ..committed import Change
from ..parts import Parts
from .case import Rules, words

_STATUS: Final = (ONLINE, READ_ONLY, OFFLINE)  # in the order in which a partition may have them
_SKEW_MS_MAX: Final = 7_200_000  # between the clocks of controllers, which write the times


class PartitionRules(Rules):
    """For all partitions; remembers the brokers that their leaders and other programs named."""

    def __init__(self, rig: Parts) -> None:
        super().__init__(rig)
        self.named: dict[TopicPartition, dict[tuple[int, int], set[int]]] = {}  # by leader and partition epoch
        self.foreign: dict[TopicPartition, set[int]] = {}  # in ISRs that other programs wrote

    def proposed(self, tp: TopicPartition, asked: IsrAsked) -> None:
        epochs = (asked.leader_epoch, asked.partition_epoch)
        self.named.setdefault(tp, {}).setdefault(epochs, set()).update(asked.isr)

    def named_since(self, tp: TopicPartition, leader_epoch: int, partition_epoch: int) -> set[int]:
        """The brokers that the leader of this epoch named when it knew the partition as it is, or later."""
        named = self.named.get(tp, {}).items()
        return set().union(*(isr for (of, at), isr in named if of == leader_epoch and at >= partition_epoch))

    def follow_foreign(self, changes: Iterable[Change]) -> None:
        """Other programs wrote ISRs. Their members may join R by the next commit of a controller, which may have seen
        one ISR and then another."""
        for change in changes:
            self.foreign.setdefault(change.tp, set()).update(change.after.isr)

    def forget(self, tp: TopicPartition) -> None:
        self.named.pop(tp, None)
        self.foreign.pop(tp, None)

    def is_unclean(self, tp: TopicPartition) -> bool:
        """Whether a leader that is not in sync may be elected there."""
        own = self.committed.configs.get(f"/config/topics/{tp.topic}", {}).get(UNCLEAN)
        default = self.rig.settings.unclean_leader_election_enable or self.committed.unclean_default
        allowed = default if own is None else own == "true"
        return allowed or tp in self.rig.operators.unclean_asked

    def check(self, change: Change) -> None:
        """A change that a controller committed. Raises InvariantBroken."""
        tp, before, after = change.tp, change.before, change.after
        strays = self.foreign.pop(tp, set())
        said = f"{tp}: {words(before)} -> {words(after)} by {change.by.sender}"
        self.require(after.isr, 1, f"an empty isr: {said}")
        nobody = (NO_LEADER, LEADER_DURING_DELETE) if tp.topic in self.committed.deleting else (NO_LEADER,)
        self.require(after.leader in (*after.isr, *nobody), 1, f"the leader is not in the isr: {said}")
        is_within = set(after.isr) <= set(after.members) or after.leader == LEADER_DURING_DELETE
        self.require(is_within, 2, f"the isr is not within R and T: {said}")
        if before is None:
            topic = self.committed.topic(tp.topic)
            created = NO_EPOCH + 1 if topic is None else topic.created_epoch(tp.partition)
            # A later change in the same commit, such as a death, shows in its values.
            is_led = after.leader == after.replicas[0] and after.isr == after.replicas
            is_as_made = is_led and after.move is None and after.status_code == ONLINE
            # So does a move that began and ended.
            is_as_made &= after.leader_epoch < created + 2 or after.replicas not in self.rig.asked_targets.get(tp, ())
            fits = after.leader_epoch == created or (after.leader_epoch > created and not is_as_made)
            self.require(fits, 8, f"created with another leader epoch than {created}: {said}")
            return
        named = set(before.isr) | self.named_since(tp, before.leader_epoch, change.partition_epoch)
        if after.leader_recovery_state == 1 and self.is_unclean(tp):
            named |= set(after.isr)
        if after.leader == LEADER_DURING_DELETE and keys.state(tp.topic, tp.partition) in self.committed.found_blind:
            named |= set(after.replicas)  # the deletion of an unreadable key writes R without a leader
        else:
            self._status(before, after, said)
        self._leadership(before, after, named, said)
        self._membership(before, after, named, strays, said)
        self._target(before, after, named, said)

    def _status(self, before: Partition, after: Partition, said: str) -> None:
        was, now = before.status_code, after.status_code
        if was == OFFLINE:
            same = after.leader in {before.leader, LEADER_DURING_DELETE} and after.move is None
            self.require(same, 8, f"offline, and elected or moved: {said}")
        if was == now:
            return
        entry = self.committed.reductions_lately.get(before.topic, {}).get(before.partition)
        self.require(_STATUS.index(now) > _STATUS.index(was), 8, f"the status goes back from {was} to {now}: {said}")
        self.require(entry is not None, 8, f"status {now} without a request: {said}")
        self.require(after.leader_epoch > before.leader_epoch, 8, f"status {now} under an old leader epoch: {said}")
        if now == OFFLINE and entry is not None and not entry.immediate:
            time_ms = self.rig.clock.now_ms() + _SKEW_MS_MAX - entry.timestamp_ms
            is_over = time_ms >= self._retention_ms(before.topic)
            may_end = is_over or self._is_empty(before)
            self.require(may_end, 8, f"offline after {time_ms} ms, not empty: {said}")

    def _retention_ms(self, topic: str) -> int:
        """The shortest recent one: a controller learns of a changed setting late."""
        own = self.committed.retentions.get(topic, set())
        return min(own | self.committed.retention_defaults | (set() if own else {RETENTION_MS}))

    def _is_empty(self, partition: Partition) -> bool:
        """Whether no acknowledged record is lost with it. An unclean election may have lost them before: then the logs
        of its ISR are empty."""
        if self.rig.producers.acknowledged(partition.tp) == 0:
            return True
        logs = [self.rig.brokers[broker].log(partition.tp) for broker in partition.isr]
        return self.is_unclean(partition.tp) and all(log is None or log.start_offset == log.end_offset for log in logs)

    def _leadership(self, before: Partition, after: Partition, named: set[int], said: str) -> None:
        self.require(after.leader_epoch >= before.leader_epoch, 5, f"the leader epoch goes back: {said}")
        if after.leader != before.leader:
            self.require(after.leader_epoch > before.leader_epoch, 5, f"a new leader under an old epoch: {said}")
        self.require(set(after.isr) <= named, 1, f"the isr gains brokers that no leader named: {said}")
        nobody = (NO_LEADER, LEADER_DURING_DELETE)
        self.require(after.leader in (*named, *nobody), 1, f"a leader from outside the isr: {said}")

    def _membership(self, before: Partition, after: Partition, named: set[int], strays: set[int], said: str) -> None:
        gained = set(after.replicas) - set(before.replicas)
        self.require(gained <= named | strays, 4, f"R gains {sorted(gained)}, not in sync: {said}")
        lost = set(before.replicas) - set(after.replicas)
        if lost:
            grown = set(after.isr) if after.move is not None else set()
            fits = any(
                set(target) <= named
                and lost.isdisjoint(target)
                and set(target) <= set(after.replicas)
                and set(after.replicas) - set(target) <= grown
                for target in self._targets(before)
            )
            self.require(fits, 4, f"R loses {sorted(lost)} before the targets are in sync: {said}")

    def _targets(self, before: Partition) -> set[Replicas]:
        """The possible targets of the partition: what was requested, and the way back."""
        targets = set(self.rig.asked_targets.get(before.tp, ()))
        targets |= {before.replicas}
        if before.move is not None:
            targets |= {before.move.target, before.move.origin}
        return targets

    def _target(self, before: Partition, after: Partition, named: set[int], said: str) -> None:
        was, now = before.target_replicas, after.target_replicas
        if now is not None and now != was:
            self.require(now in self._targets(before), 3, f"T {list(now)} without a request: {said}")
            self.require(after.leader_epoch > before.leader_epoch, 3, f"a new T under an old leader epoch: {said}")
        if was is not None and now is None:
            self.require(after.leader_epoch > before.leader_epoch, 3, f"T cleared under an old leader epoch: {said}")
            grown = (*before.replicas, *(b for b in after.isr if b not in before.replicas))  # possible after a cancel
            if after.replicas == was not in {before.replicas, grown}:
                self.require(set(was) <= named, 3, f"completed before all of T were in sync: {said}")
