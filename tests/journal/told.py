"""A journal over the real state and the real machine: every call of `tell` is one commit.

`Told` keeps the lines in memory unless it is given another sink.
"""

from __future__ import annotations

import json
from typing import Any

from kedge.controller.model.events import AlterIsr, AlterReassignment, Event
from kedge.controller.model.records import Record
from kedge.controller.model.values import Partition, Replicas
from kedge.controller.runtime.journal import Decided, Journal, MemorySink, Sink
from tests.rules.world import World

Row = dict[str, Any]


class Told:
    """A cluster of brokers 1..6 with the partition orders-0 on 1, 2, 3, and the journal of its controller."""

    def __init__(self, sink: Sink | None = None, epoch: int = 7) -> None:
        self.world = World()
        self.world.state.controller_epoch = epoch
        for broker in range(1, 7):
            self.world.plant_broker(broker)
        self.world.plant(Partition("orders", 0, (1, 2, 3), (1, 2, 3), 1, 5))
        self.memory = MemorySink()
        self.journal = Journal(sink or self.memory)
        self.seq = 41
        self.now_ms = 1000

    @property
    def rows(self) -> list[Row]:
        return [json.loads(line) for line in self.memory.lines]

    @property
    def orders(self) -> Partition:
        return self.world.partition("orders")

    def take_over(self) -> None:
        self.journal.takeover(self.world.state, self.seq, self.now_ms)

    def write(self, *records: Record, cause: str | None = None, request: str | None = None) -> None:
        """One commit of records that were made by hand."""
        self.seq += 1
        self.now_ms += 1
        self.journal.commit(self.seq, self.now_ms, [Decided(records, cause, request)], self.world.state.partition_epoch)

    def tell(self, event: Event, cause: str | None = None, request: str | None = None) -> None:
        """One commit of what the machine decides."""
        decision = self.world.decide(event)
        self.world.commit()
        self.write(*decision.records, cause=cause, request=request)

    def reassign(self, target: Replicas | None, request: str | None = None) -> None:
        event = AlterReassignment(self.now_ms, "orders", 0, target)
        self.tell(event, "alter_partition_reassignments", request)

    def in_sync(self, *isr: int) -> None:
        """The leader says who is in sync."""
        p = self.orders
        epoch = self.world.state.partition_epoch(p)
        event = AlterIsr(self.now_ms, "orders", 0, p.leader, p.leader_epoch, epoch, isr, broker_epoch=1)
        self.tell(event, "alter_isr")

    def in_run(self, *isr: int) -> None:
        """The leader of run-0, where that was planted, says who is in sync."""
        p = self.world.partition("run")
        epoch = self.world.state.partition_epoch(p)
        event = AlterIsr(self.now_ms, "run", 0, p.leader, p.leader_epoch, epoch, isr, broker_epoch=1)
        self.tell(event, "alter_isr")

    def move(self) -> None:
        """The whole move of `docs/reassignments.md`: orders-0 from 1, 2, 3 to 4, 5, 6."""
        self.reassign((4, 5, 6), "r-1")
        for broker in (4, 5, 6):
            self.in_sync(*self.orders.isr, broker)

    def move_back(self) -> None:
        """Another move, back to 1, 2, 3."""
        self.reassign((1, 2, 3), "r-2")
        for broker in (1, 2, 3):
            self.in_sync(*self.orders.isr, broker)
