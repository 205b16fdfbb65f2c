"""Followers fetch from their leaders: a number of bytes per second into each broker, in virtual time.

A fetch reports the follower's end offset to the leader, and brings records and the leader's high watermark. A leader
answers only a follower with the same leader epoch, so nothing is copied from a deposed one. While a broker has a limit
(`kedge.controller.quota`) `throttling` divides the bytes; otherwise that costs nothing. Each follower is isolated
(`Broker.isolated`): one that raises fetches nothing in this step.
"""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from ..model.values import TopicPartition
from .broker import Broker
from .fetching import Meeting
from .flows import Flows
from .replica import Replica, Role
from .throttling import Throttling
from .timeline import Timeline


@attrs.define(eq=False)
class Copying:
    """All fetches of a cluster. `rate_bytes_s`: into each broker, None = unlimited. `is_held_up`: limits delayed a
    follower in the last step, so there is more to copy even if nothing was copied."""

    brokers: Mapping[int, Broker]
    timeline: Timeline
    rate_bytes_s: int | None = None
    copied_bytes: int = 0
    is_held_up: bool = False
    flows: Flows = attrs.field(init=False)
    _credit: dict[int, float] = attrs.field(factory=dict)
    _turn: int = 0
    _throttling: Throttling = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self.flows = Flows(self.timeline.now_s)
        self._throttling = Throttling(self.brokers, self._take)

    def step(self, ms: int) -> int:
        """Every follower fetches once; returns the number of copied bytes."""
        self._turn += 1
        self.is_held_up = False
        up = [broker for broker in self.brokers.values() if broker.is_up]
        if any(broker.quotas.is_limited for broker in up):
            copied = self._throttled(up, ms)
        else:
            copied = sum(self._broker(broker, ms) for broker in up)
        self.copied_bytes += copied
        return copied

    def fetch(self, broker: Broker) -> None:
        """The followers on `broker` fetch once, regardless of the rate."""
        for replica in list(broker.serving(Role.FOLLOWER)):
            leader = self._leader_of(replica)
            if leader is not None:
                self._meet(replica, leader)
                if Meeting(replica, leader).fetch(None):
                    self._meet(replica, leader)

    def fill(self, broker: Broker, tp: TopicPartition) -> None:
        """The follower on `broker` gets all records of its leader, regardless of the rate."""
        replica = broker.replica(tp)
        leader = None if replica is None or replica.role is not Role.FOLLOWER else self._leader_of(replica)
        if replica is not None and leader is not None:
            self._meet(replica, leader)
            Meeting(replica, leader).fetch(None)
            self._meet(replica, leader)

    def catch_up(self, leader: Replica) -> None:
        """The followers of `leader` get all its records at once, where no rate limits them."""
        if self.rate_bytes_s is not None or any(b.quotas.is_limited for b in self.brokers.values() if b.is_up):
            return
        for member in leader.members:
            broker = self.brokers.get(member)
            if broker is None or not broker.is_up:
                continue
            replica = broker.replicas.get((leader.topic_id, leader.partition))
            if replica is None or replica.role is not Role.FOLLOWER or self._leader_of(replica) is not leader:
                continue
            if self._meet(replica, leader):
                self.copied_bytes += self._take(Meeting(replica, leader), None)
                self._meet(replica, leader)

    def _broker(self, broker: Broker, ms: int) -> int:
        behind = self._behind(broker)
        copied = self._copy(broker.broker_id, behind, ms) if behind else 0
        for meeting in behind:
            self._meet(meeting.replica, meeting.leader)  # the next fetch follows at once, with the new end offset
        return copied

    def _behind(self, broker: Broker) -> list[Meeting]:
        """Report the end offsets of all followers on `broker`; returns those that are behind."""
        found = []
        for replica in broker.serving(Role.FOLLOWER):
            leader = self._leader_of(replica)
            if leader is not None and self._meet(replica, leader):
                meeting = Meeting(replica, leader)
                if meeting.is_behind:
                    found.append(meeting)
        return found

    def _leader_of(self, replica: Replica) -> Replica | None:
        broker = self.brokers.get(replica.leader)
        if broker is None or not broker.is_up:
            return None
        leader = broker.replicas.get((replica.topic_id, replica.partition))
        if leader is None or leader.role is not Role.LEADER or leader.leader_epoch != replica.leader_epoch:
            return None
        return leader

    def _meet(self, replica: Replica, leader: Replica) -> bool:
        """Exchange end offset and high watermark; False where that raised."""
        with self.brokers[replica.broker].isolated(replica):
            lost = replica.truncate_to(leader.log)
            if lost:
                self.timeline.say(
                    f"broker {replica.broker}", f"truncates {lost} records of {replica.topic}-{replica.partition}"
                )
            epoch, now_ms = self.brokers[replica.broker].epoch, self.brokers[leader.broker].clock.now_ms()
            leader.fetched(replica.broker, replica.log.end_offset, now_ms, epoch)
            replica.log.high_watermark = max(
                replica.log.high_watermark, min(leader.log.high_watermark, replica.log.end_offset)
            )
            return True
        return False

    def _copy(self, broker: int, behind: list[Meeting], ms: int) -> int:
        if self.rate_bytes_s is None:
            return sum(self._take(meeting, None) for meeting in behind)
        # Credit for less than one record is kept for later; a broker with nothing to fetch keeps none.
        credit = self._credit.get(broker, 0.0) + self.rate_bytes_s * ms / 1000
        first = self._turn % len(behind)
        behind = behind[first:] + behind[:first]
        copied = 0
        for place, meeting in enumerate(behind):
            copied += self._take(meeting, int((credit - copied) / (len(behind) - place)))
        if not copied:
            copied = self._take(behind[0], int(credit))
        still_behind = any(meeting.is_behind for meeting in behind)
        self._credit[broker] = credit - copied if still_behind else 0.0
        return copied

    def _throttled(self, up: list[Broker], ms: int) -> int:
        behind = {broker.broker_id: found for broker in up if (found := self._behind(broker))}
        network = {}
        brought = 0.0 if self.rate_bytes_s is None else self.rate_bytes_s * ms / 1000
        if self.rate_bytes_s is not None:
            network = {broker: self._credit.get(broker, 0.0) + brought for broker in behind}
        meetings = [meeting for found in behind.values() for meeting in found]
        fetched = self._throttling.copy(meetings, network)
        for broker, credit in network.items():
            # Credit that limits leave unused is not kept: the network never exceeds its rate.
            records = [meeting.record_bytes for meeting in behind[broker] if meeting.is_behind]
            self._credit[broker] = min(credit, brought + max(records)) if records else 0.0
        for meeting, _ in fetched:
            self._meet(meeting.replica, meeting.leader)
        self.is_held_up = any(meeting.is_behind for meeting in meetings)
        return sum(taken for _, taken in fetched)

    def _take(self, meeting: Meeting, bytes_max: int | None) -> int:
        """One fetch, with its bytes counted; returns their number, 0 where it raised."""
        with self.brokers[meeting.replica.broker].isolated(meeting.replica):
            taken = meeting.fetch(bytes_max)
            if taken:
                self.flows.count(meeting.leader.broker, "leader", meeting.leader_families(self.brokers), taken)
                self.flows.count(meeting.replica.broker, "follower", meeting.follower_families(self.brokers), taken)
            return taken
        return 0
