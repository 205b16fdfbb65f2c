"""Followers fetch from their leaders: so many bytes a second into each broker, in virtual time.

A fetch says where the follower stands (by which the leader learns of it), brings records, and the leader's high
watermark. A leader answers only a follower that is in the same leader epoch, so nothing is copied from a deposed one.
"""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from controller.model.values import TopicPartition
from controller.rig.broker import Broker
from controller.rig.replica import Replica, Role
from controller.rig.timeline import Timeline


@attrs.define(eq=False)
class Copying:
    """All fetches of a cluster. `rate_bytes_s`: into each broker, None = as fast as it is written."""

    brokers: Mapping[int, Broker]
    timeline: Timeline
    rate_bytes_s: int | None = None
    copied_bytes: int = 0
    _credit: dict[int, float] = attrs.field(factory=dict)
    _turn: int = 0

    def step(self, ms: int) -> int:
        """Everyone fetches once; returns how many bytes were copied."""
        self._turn += 1
        copied = sum(self._broker(broker, ms) for broker in self.brokers.values() if broker.is_up)
        self.copied_bytes += copied
        return copied

    def fetch(self, broker: Broker) -> None:
        """The followers on `broker` fetch once, whatever the rate is."""
        for replica in list(broker.serving(Role.FOLLOWER)):
            leader = self._leader_of(replica)
            if leader is not None:
                self._meet(replica, leader)
                if _fetch(replica, leader, None):
                    self._meet(replica, leader)

    def fill(self, broker: Broker, tp: TopicPartition) -> None:
        """The follower on `broker` has all that its leader has, whatever the rate is."""
        replica = broker.replica(tp)
        leader = None if replica is None or replica.role is not Role.FOLLOWER else self._leader_of(replica)
        if replica is not None and leader is not None:
            self._meet(replica, leader)
            _fetch(replica, leader, None)
            self._meet(replica, leader)

    def _broker(self, broker: Broker, ms: int) -> int:
        pairs = []
        for replica in broker.serving(Role.FOLLOWER):
            leader = self._leader_of(replica)
            if leader is not None:
                self._meet(replica, leader)
                if replica.log.end_offset < leader.log.end_offset:
                    pairs.append((replica, leader))
        copied = self._copy(broker.broker_id, pairs, ms) if pairs else 0
        for replica, leader in pairs:
            self._meet(replica, leader)  # the next fetch follows at once, and says how far this one came
        return copied

    def _leader_of(self, replica: Replica) -> Replica | None:
        broker = self.brokers.get(replica.leader)
        if broker is None or not broker.is_up:
            return None
        leader = broker.replicas.get((replica.topic_id, replica.partition))
        if leader is None or leader.role is not Role.LEADER or leader.leader_epoch != replica.leader_epoch:
            return None
        return leader

    def _meet(self, replica: Replica, leader: Replica) -> None:
        lost = replica.truncate_to(leader.log)
        if lost:
            self.timeline.say(
                f"broker {replica.broker}", f"truncates {lost} records of {replica.topic}-{replica.partition}"
            )
        leader.fetched(replica.broker, replica.log.end_offset, self.brokers[leader.broker].clock.now_ms())
        replica.log.high_watermark = max(
            replica.log.high_watermark, min(leader.log.high_watermark, replica.log.end_offset)
        )

    def _copy(self, broker: int, pairs: list[tuple[Replica, Replica]], ms: int) -> int:
        if self.rate_bytes_s is None:
            return sum(_fetch(replica, leader, None) for replica, leader in pairs)
        # What a record more than the credit would take is saved up; a broker that had nothing to fetch saves nothing.
        credit = self._credit.get(broker, 0.0) + self.rate_bytes_s * ms / 1000
        first = self._turn % len(pairs)
        pairs = pairs[first:] + pairs[:first]
        copied = 0
        for place, (replica, leader) in enumerate(pairs):
            copied += _fetch(replica, leader, int((credit - copied) / (len(pairs) - place)))
        if not copied:
            copied = _fetch(*pairs[0], int(credit))
        still_behind = any(replica.log.end_offset < leader.log.end_offset for replica, leader in pairs)
        self._credit[broker] = credit - copied if still_behind else 0.0
        return copied


def _fetch(replica: Replica, leader: Replica, bytes_max: int | None) -> int:
    runs = leader.log.read(replica.log.end_offset, bytes_max)
    replica.log.append(runs)
    return sum(run.count * run.record_bytes for run in runs)
