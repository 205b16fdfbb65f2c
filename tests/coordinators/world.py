"""A rig of three brokers in virtual time with what the coordinators of a live cluster have, and what befalls them."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Mapping
from typing import Final

from kedge.controller.coordinators import INTERNAL_TOPICS
from kedge.controller.model.values import TopicPartition
from kedge.controller.rig import Rig
from kedge.controller.server.compaction import Compaction
from kedge.controller.server.logs import LiveLogs
from kedge.controller.server.shelves import Shelves
from kedge.controller.wire.data.compacting import BatchRecords
from kedge.controller.wire.groups import GroupRecords
from kedge.controller.wire.transactions import TransactionRecords
from tests.coordinators.defects import Defects, FailingGroups, FailingTransactions
from tests.verify.late_requests import Late
from tests.verify.memory import check_memory
from tests.verify.trouble import TROUBLE
from tests.verify.world import World as Troubled

INTERNAL_PARTITIONS: Final = 2
OFTEN: Final = {"cleanup.policy": "compact", "segment.bytes": "14", "min.cleanable.dirty.ratio": "0"}
"""The configs of an internal topic, so that it is compacted at every commit, up to the newest batch."""
OBJECTS_MS: Final = 500  # between two looks at the rows that controllers keep as objects, which change what is kept
CLUSTER_MISHAPS: Final = ("kill", "restart", "pause", "resume", "bounce", "move", "controller", "trouble")


class World:
    """`topics`: the partitions of each topic of the clients. What they do is up to the seed."""

    def __init__(self, seed: int, name: str, topics: Mapping[str, int]) -> None:
        self.chance = random.Random(f"{name}/{seed}")
        self.rig = Rig(seed, tick_ms=50)
        self.troubled = Troubled(self.rig)
        self.late = Late(random.Random(f"late/{name}/{seed}"))
        self._queue: deque[Callable[[], None]] = deque()
        network, brokers, soon = self.rig.network, self.rig.brokers, self._queue.append
        shelves = Shelves(brokers, network.settings)
        clock = self.rig.clock.monotonic_s
        self.logs = LiveLogs(brokers, network.settings, soon, lambda _: None, shelves, clock=clock)
        self.logs.begin(BatchRecords())
        self.compaction = Compaction(self.logs, lambda: self.now_ms)
        self.groups = FailingGroups(brokers, self.logs, soon)
        self.groups.begin(GroupRecords())
        self.transactions = FailingTransactions(brokers, self.logs, soon, self.groups)
        self.defects = self.groups.defects = self.transactions.defects = Defects(f"{name}/{seed}")
        self.transactions.begin(TransactionRecords())
        for topic in sorted(INTERNAL_TOPICS):
            self.rig.create_topic(topic, INTERNAL_PARTITIONS, 3, configs=OFTEN)
        for topic, partitions in topics.items():
            self.rig.create_topic(topic, partitions, 3)

    def tick(self) -> None:
        """All brokers and coordinators do what is due."""
        self.troubled.due()
        self.rig.step()
        check_memory(self.rig, and_objects=self.rig.clock.elapsed_ms % OBJECTS_MS == 0)
        self.drain()
        self.logs.step()
        self.groups.step()
        self.transactions.step()
        self.compaction.clean()
        self.compaction.step()
        self.drain()

    def drain(self) -> None:
        """Handle what clients asked."""
        while self._queue:
            self._queue.popleft()()

    @property
    def now_ms(self) -> int:
        return self.rig.clock.elapsed_ms

    def leader(self, tp: TopicPartition) -> int | None:
        """The broker that leads the partition, as the controller has it."""
        leader = self.rig.leader(tp)
        return None if leader is None else leader.broker_id

    def mishap(self, kind: str, moved: TopicPartition) -> None:
        """One of `CLUSTER_MISHAPS`. `moved`: the partition that "move" moves."""
        self.defects.plan()
        broker, mishaps = self.chance.choice([*self.rig.brokers]), self.rig.mishaps
        if kind == "kill":
            mishaps.kill_broker(broker, at_once=self.chance.random() < 0.5)
        elif kind in {"restart", "bounce"}:
            mishaps.bounce_broker(broker)
        elif kind == "pause":
            mishaps.pause_broker(broker)
        elif kind == "resume":
            mishaps.resume_broker(broker)
        elif kind == "move":
            self._move(moved)
        elif kind == "trouble":
            self.rig.timeline.say("trouble", self.troubled.choose(TROUBLE)(self.troubled))
        else:
            mishaps.restart_controller(self.chance.choice([101, 102]))

    def _move(self, tp: TopicPartition) -> None:
        active = self.rig.active
        if active is not None and active.controller is not None:
            target = self.chance.sample([*self.rig.brokers], self.chance.randint(1, 3))
            active.controller.admin.alter_partition_reassignments({tp: target})
