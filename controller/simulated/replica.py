"""One replica on one simulated broker: its state by the controller's requests, and a leader's work with it.

The rules are Kafka's:
* The high watermark is the lowest end offset in the *maximal* isr: the committed isr, and the requested one that is not
  answered yet. So no record counts as acknowledged that a possible isr lacks.
* A follower joins the isr when its end offset has reached the high watermark and the offset at which this leader epoch
  began; it leaves when it has not been at the leader's end for longer than the allowed lag.
* One change of the isr is in progress at a time. An error that means "not applied" drops it; any other keeps it, since
  it may have been applied, until a newer partition epoch is known.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping

import attrs

from ..model.host import LeaderAndIsrPartition
from ..model.reductions import OFFLINE, ONLINE
from ..model.values import NO_EPOCH, NO_LEADER, Replicas
from .log import Log, Run, truncation_offset


class Role(enum.Enum):
    """The present role of a replica. IDLE: it has a log and serves no requests."""

    LEADER = "leader"
    FOLLOWER = "follower"
    IDLE = "idle"


@attrs.define
class FollowerSeen:
    """A leader's knowledge of a follower by its fetches. `end_offset` None: it has not fetched in this epoch."""

    caught_up_ms: int
    end_offset: int | None = None
    fetched_ms: int = 0
    leader_end_at_fetch: int = 0
    broker_epoch: int = NO_EPOCH


@attrs.frozen
class IsrAsked:
    """A change of the isr that is in progress."""

    isr: Replicas
    leader_epoch: int
    partition_epoch: int
    epochs: Mapping[int, int] = attrs.field(factory=dict)


@attrs.define(eq=False)
class Replica:
    """The replica of (`topic_id`, `partition`) on `broker`."""

    broker: int
    topic: str
    topic_id: str
    partition: int
    log: Log = attrs.field(factory=Log)
    role: Role = Role.IDLE
    leader: int = NO_LEADER
    leader_epoch: int = -1
    partition_epoch: int = -1
    isr: Replicas = ()
    replicas: Replicas = ()
    target: Replicas | None = None
    recovering: bool = False
    status: int = ONLINE
    is_truncated: bool = False
    followers: dict[int, FollowerSeen] = attrs.field(factory=dict)
    asked: IsrAsked | None = None
    epoch_start: int = 0

    @property
    def members(self) -> Replicas:
        """R, then what only T adds."""
        return self.replicas + tuple(b for b in self.target or () if b not in self.replicas)

    @property
    def maximal_isr(self) -> Replicas:
        """The isr, with the brokers that are requested to join it."""
        asked = () if self.asked is None else self.asked.isr
        return self.isr + tuple(b for b in asked if b not in self.isr)

    # --- requests of the controller

    def told(self, said: LeaderAndIsrPartition, now_ms: int) -> None:
        """Obey a LeaderAndIsr that is not older than the present state."""
        if said.leader_epoch > self.leader_epoch:
            self._new_epoch(said, now_ms)
        elif said.partition_epoch > self.partition_epoch:
            self.learned(said.isr, said.partition_epoch)
            self.recovering = said.leader_recovery_state == 1
        elif self.role is not Role.IDLE:
            self.target = said.target_replicas  # a controller without targets took over: the move stops
            return
        self.replicas, self.target, self.status = said.replicas, said.target_replicas, said.status_code
        self._take_role(now_ms)

    def _new_epoch(self, said: LeaderAndIsrPartition, now_ms: int) -> None:
        self.epoch_start = self.log.end_offset  # first: a log that raises leaves the former epoch whole
        self.leader, self.leader_epoch = said.leader, said.leader_epoch
        self.isr, self.partition_epoch = said.isr, said.partition_epoch
        self.recovering = said.leader_recovery_state == 1
        self.asked, self.is_truncated = None, False
        self.followers = {b: FollowerSeen(now_ms) for b in said.isr if b != self.broker}

    def _take_role(self, now_ms: int) -> None:
        if self.status == OFFLINE:
            self.stop()
        elif self.leader == self.broker:
            self.role = Role.LEADER
            for follower in self.members:
                if follower != self.broker:
                    self.followers.setdefault(follower, FollowerSeen(now_ms))
            self.advance()
        else:
            self.role = Role.IDLE if self.leader == NO_LEADER else Role.FOLLOWER

    def learned(self, isr: Replicas, partition_epoch: int) -> None:
        """A newer committed isr of this leader epoch: by an answer, by metadata, or by a request."""
        if partition_epoch > self.partition_epoch:
            self.isr, self.partition_epoch = isr, partition_epoch
            self.asked = None
            self.advance()

    def stop(self) -> None:
        """Serve no requests; the log stays."""
        self.role, self.asked = Role.IDLE, None

    # --- a leader's work

    def append(self, count: int, first_id: int, record_bytes: int) -> Run:
        """Records at the end, under this leader epoch."""
        run = Run(self.log.end_offset, count, self.leader_epoch, first_id, record_bytes)
        self.log.append([run])
        self.advance()
        return run

    def fetched(self, follower: int, offset: int, now_ms: int, broker_epoch: int = NO_EPOCH) -> None:
        """Record a fetch of a follower with the end offset `offset`."""
        seen = self.followers.setdefault(follower, FollowerSeen(now_ms))
        seen.broker_epoch = broker_epoch
        seen.end_offset = offset
        if offset >= self.log.end_offset:
            seen.caught_up_ms = now_ms
        elif offset >= seen.leader_end_at_fetch:
            seen.caught_up_ms = max(seen.caught_up_ms, seen.fetched_ms)
        seen.fetched_ms, seen.leader_end_at_fetch = now_ms, self.log.end_offset
        self.advance()

    def advance(self) -> None:
        """Raise the high watermark to the lowest end offset in the maximal isr."""
        if self.leader != self.broker:
            return
        ends = [self._end_of(member) for member in self.maximal_isr]
        if None not in ends:
            lowest = min((end for end in ends if end is not None), default=0)
            self.log.high_watermark = max(self.log.high_watermark, lowest)

    def _end_of(self, member: int) -> int | None:
        if member == self.broker:
            return self.log.end_offset
        seen = self.followers.get(member)
        return None if seen is None else seen.end_offset

    def wanted_isr(self, now_ms: int, lag_max_ms: int) -> Replicas | None:
        """The isr that this leader should request, None where the present one is right."""
        if self.role is not Role.LEADER or self.asked is not None:
            return None
        stay = tuple(b for b in self.isr if b == self.broker or not self._lags(b, now_ms, lag_max_ms))
        joined = tuple(b for b in self.members if b not in self.isr and b != self.broker and self._caught_up(b))
        return None if stay == self.isr and not joined and not self.recovering else stay + joined

    def refused(self, asked: IsrAsked) -> None:
        """The controller takes none of the new members: each has to fetch again before another request, as Kafka's
        leaders expand the isr at a fetch only. A follower that stopped would be requested forever."""
        self.asked = None
        for member in asked.isr:
            if member not in self.isr and member in self.followers:
                self.followers[member].end_offset = None

    def _lags(self, follower: int, now_ms: int, lag_max_ms: int) -> bool:
        seen = self.followers.get(follower)
        if seen is None:
            return False
        return seen.end_offset != self.log.end_offset and now_ms - seen.caught_up_ms > lag_max_ms

    def _caught_up(self, follower: int) -> bool:
        seen = self.followers.get(follower)
        if seen is None or seen.end_offset is None:
            return False
        return seen.end_offset >= max(self.log.high_watermark, self.epoch_start)

    # --- a follower's work

    def truncate_to(self, leader: Log) -> int:
        """Delete what the leader does not have, once per leader epoch; returns the number of records."""
        if self.is_truncated:
            return 0
        removed = self.log.truncate(truncation_offset(self.log, leader))
        self.is_truncated = True
        return removed
