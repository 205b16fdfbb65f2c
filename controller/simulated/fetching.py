"""A follower and its leader at a fetch: the records, and the limits on either side."""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from ..quota import Bound, Family
from .broker import Broker
from .replica import Replica


@attrs.define(eq=False)
class Meeting:
    """`replica` follows `leader`. Each side decides by what its own broker knows of T, I and settings."""

    replica: Replica
    leader: Replica

    @property
    def is_behind(self) -> bool:
        return self.replica.log.end_offset < self.leader.log.end_offset

    @property
    def record_bytes(self) -> int:
        """The size of the next record."""
        return self.leader.log.record_bytes_at(self.replica.log.end_offset)

    def fetch(self, bytes_max: int | None) -> int:
        """The follower takes as many records as fit into `bytes_max`; returns their bytes. A log that ends before the
        leader's begins continues there."""
        if self.replica.log.end_offset < self.leader.log.start_offset:
            self.replica.log.delete_before(self.leader.log.start_offset)
        runs = self.leader.log.read(self.replica.log.end_offset, bytes_max)
        self.replica.log.append(runs)
        return sum(run.count * run.record_bytes for run in runs)

    def leader_families(self, brokers: Mapping[int, Broker]) -> tuple[Family, ...]:
        """The families of limits that apply, from the leader's side."""
        leader, follower = self.leader, self.replica.broker
        quotas = brokers[leader.broker].quotas
        if leader.target is None and not quotas.names_replicas:
            return ()
        return quotas.families("leader", leader.topic, leader.partition, follower, isr=leader.isr, target=leader.target)

    def follower_families(self, brokers: Mapping[int, Broker]) -> tuple[Family, ...]:
        """The families of limits that apply, from the follower's side."""
        replica = self.replica
        broker = brokers[replica.broker]
        if replica.target is None and not broker.quotas.names_replicas:
            return ()
        return broker.quotas.families(
            "follower",
            replica.topic,
            replica.partition,
            replica.broker,
            isr=broker.isr_of(replica),
            target=replica.target,
        )

    def bound(self, brokers: Mapping[int, Broker]) -> Bound:
        """The limits of both sides."""
        at_leader = brokers[self.leader.broker].quotas.bound("leader", self.leader_families(brokers))
        return at_leader + brokers[self.replica.broker].quotas.bound("follower", self.follower_families(brokers))
