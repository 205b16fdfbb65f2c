"""One replica of a partition: its log, and what it knows by the latest LeaderAndIsr, UpdateMetadata or answer."""

from __future__ import annotations

from concurrent.futures import Future

import attrs

from examples.log_on_disk.log import Log
from kedge import AcceptedIsr, LeaderAndIsrPartition

ONLINE, OFFLINE = 0, 1


@attrs.define(eq=False)
class Replica:
    """The replica on broker `broker`. It serves no client until a LeaderAndIsr names it."""

    broker: int
    topic: str
    partition: int
    log: Log
    serves: bool = False
    leader: int = -1
    leader_epoch: int = -1
    partition_epoch: int = -1
    isr: tuple[int, ...] = ()
    isr_max: tuple[int, ...] = ()  # the ISR, and what this leader has asked for and may have been committed
    members: tuple[int, ...] = ()  # replicas and targets
    status: int = ONLINE
    is_recovering: bool = False  # it was elected uncleanly, and says so with its next `alter_isr`
    epoch_start: int = 0
    high_watermark: int = 0  # records below it are on the whole ISR, and therefore acknowledged
    ends: dict[int, int] = attrs.field(factory=dict)  # of a leader: how far each follower is
    asked: Future[AcceptedIsr] | None = None
    ask_after_s: float = 0.0
    is_truncated: bool = False

    @property
    def leads(self) -> bool:
        return self.serves and self.leader == self.broker

    def told(self, said: LeaderAndIsrPartition) -> None:
        """Take what a LeaderAndIsr says, unless it is older than what is known."""
        if (said.leader_epoch, said.partition_epoch) < (self.leader_epoch, self.partition_epoch):
            return
        if said.leader_epoch > self.leader_epoch:
            self.leader_epoch, self.partition_epoch = said.leader_epoch, -1
            self.epoch_start = self.log.end_offset
            self.ends, self.asked, self.ask_after_s, self.is_truncated = {}, None, 0.0, False
        self.learned(said.isr, said.partition_epoch)
        added = [broker for broker in said.target_replicas or () if broker not in said.replicas]
        self.leader, self.members, self.status = said.leader, (*said.replicas, *added), said.status_code
        self.is_recovering = said.leader_recovery_state == 1
        self.serves = said.leader >= 0 and said.status_code != OFFLINE
        self.advance()

    def learned(self, isr: tuple[int, ...], partition_epoch: int) -> None:
        """A newer ISR is committed."""
        if partition_epoch > self.partition_epoch:
            self.isr = self.isr_max = isr
            self.partition_epoch = partition_epoch
            self.advance()

    def fetched(self, follower: int, offset: int) -> None:
        """A follower has everything below `offset`."""
        self.ends[follower] = offset
        self.advance()

    def advance(self) -> None:
        """Raise the high watermark to what every possible ISR has."""
        ends = [self.log.end_offset if member == self.broker else self.ends.get(member, 0) for member in self.isr_max]
        if self.leads and ends:
            self.high_watermark = max(self.high_watermark, min(ends))

    def wanted_isr(self) -> tuple[int, ...] | None:
        """The ISR that this leader should ask for; None: it has it already."""
        enough = max(self.high_watermark, self.epoch_start)
        joined = [b for b in self.members if b not in self.isr and self.ends.get(b, -1) >= enough]
        return (*self.isr, *joined) if joined or self.is_recovering else None
