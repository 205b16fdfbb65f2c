"""What happens in the demo: broker 8 is emptied while records are written.

The incidents come at shares of the bytes to copy, not at times: the seed decides how large each share of the work is.
After the controller was killed, brokers copy on; moves end only once the other controller leads.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Final

import attrs

from ...model.requests import NewTopic
from ...model.throttles import ReassignPartitionsOptions
from ...model.values import Partition, Replicas, TopicPartition
from ...rig import Flow, Rig
from ...rig.outside import configs
from ...rules.placement import replace_broker
from ..printing import ids
from .screen import BrokerLine, Frame, Plain, megabytes

RACKS: Final[Mapping[int, str | None]] = dict(enumerate("abcdabcd", start=1))
LEAVING: Final = 8
TOPICS: Final = {"orders": 8, "payments": 8}
REPLICATION_FACTOR: Final = 3
RECORD_BYTES: Final = 1_000
RECORDS_BEFORE: Final = (9_000, 21_000, 30_000, 25_000, 15_000)
"""In the first partition, the second, and so on in turn: moves of different sizes end one after another."""
RECORDS_PER_S: Final = 120  # to all partitions
THROTTLE_BYTES_S: Final = 1_000_000
CANCEL_AT, KILL_AT = 0.25, 0.5  # of the bytes to copy
TICK_MS: Final = 40
LOOK_MS: Final = 200
RATE_OVER_MS: Final = 2_000
DEADLINE_MS: Final = 600_000


def plan_drain(partitions: list[Partition]) -> dict[TopicPartition, Replicas]:
    """Targets that empty the leaving broker: each replica goes to the broker with the fewest that keeps racks apart."""
    loads = Counter(broker for p in partitions for broker in p.replicas)
    plan: dict[TopicPartition, Replicas] = {}
    for partition in partitions:
        if LEAVING in partition.replicas:
            plan[partition.tp] = replace_broker(partition.replicas, LEAVING, RACKS, loads)
            loads.update(plan[partition.tp])
            loads.subtract(partition.replicas)
    return plan


@attrs.define(eq=False)
class Story:
    """The cluster, and what an operator does to it. `run` tells the whole story to the screen."""

    seed: int
    screen: Plain
    rig: Rig = attrs.field(init=False)
    _flows: list[Flow] = attrs.field(factory=list)
    _plan: dict[TopicPartition, Replicas] = attrs.field(factory=dict)
    _before: dict[TopicPartition, Partition] = attrs.field(factory=dict)
    _cancelled: TopicPartition | None = None
    _killed: int | None = None
    _successor: int | None = None

    def __attrs_post_init__(self) -> None:
        self.rig = Rig(self.seed, brokers=RACKS, record_bytes=RECORD_BYTES, tick_ms=TICK_MS)

    def run(self) -> int:
        self._begin()
        writer = self.rig.write(list(self.rig.committed.partitions), RECORDS_PER_S)
        self._plan = plan_drain(self._partitions())
        self._before = {tp: self.rig.partition(tp) for tp in self.rig.committed.partitions}
        self._move(self._plan)
        self._event(
            f"broker {LEAVING} is to leave: {len(self._plan)} partitions move, "
            f"throttle {megabytes(THROTTLE_BYTES_S)} per broker"
        )
        self._watch()
        self._event("these moves have ended, and the controller has removed the throttle")
        self._move_cancelled()
        self._watch()
        self._event(f"broker {LEAVING} holds no replica, and no throttle is left")
        writer.stop()
        self.rig.wait.until_converged()
        self.rig.run(RATE_OVER_MS)  # or the last frame would show the rates of the last copies
        self._show()
        self.rig.check_end()
        self.screen.end(f"{self.rig.producers.acknowledged():,} records were written and acknowledged.")
        return self.lost()

    def _begin(self) -> None:
        rig = self.rig
        rig.until(lambda: set(rig.live_brokers) == set(RACKS), what="all brokers are live")
        new = {name: NewTopic(count, REPLICATION_FACTOR) for name, count in TOPICS.items()}
        rig.result(rig.admin.create_topics(new).all())
        rig.wait.until_converged()
        for number, partition in enumerate(self._partitions()):
            rig.fill([partition.tp], RECORDS_BEFORE[number % len(RECORDS_BEFORE)])
        self._flows = [rig.watch_flow(broker, "follower") for broker in RACKS]
        self.screen.begin(
            f"{len(RACKS)} simulated brokers, {sum(TOPICS.values())} partitions "
            f"with {REPLICATION_FACTOR} replicas each, and {len(rig.nodes)} controllers."
        )

    def _watch(self) -> None:
        """Time passes until all moves have ended and their throttle is removed."""
        end_ms = self.rig.clock.elapsed_ms + DEADLINE_MS
        while self._is_moving() and self.rig.clock.elapsed_ms < end_ms:
            self._next_incident()
            self._show()
            self.rig.run(LOOK_MS)
        self.rig.until(lambda: not self._throttles(), what="the throttle is removed")
        self._show()

    # --- incidents

    def _next_incident(self) -> None:
        share = self._copied()
        if self._cancelled is None and share >= CANCEL_AT:
            self._cancel()
        elif self._killed is None and share >= KILL_AT:
            self._kill()
        elif self._killed is not None and self._successor is None and self.rig.active is not None:
            self._take_over()

    def _move(self, targets: Mapping[TopicPartition, Replicas]) -> None:
        options = ReassignPartitionsOptions(throttle=THROTTLE_BYTES_S)
        self.rig.result(self.rig.admin.reassign_partitions(targets, options).all())

    def _cancel(self) -> None:
        """The smallest move that is running, since another one takes its place at the end."""
        running = [p.tp for p in self._partitions() if p.move is not None]
        tp = min(running, key=self._bytes_to_copy)
        self._cancelled = tp
        self.rig.reassign({tp: None})
        self._event(f"{tp}: the operator cancels its move; replicas stay on {ids(self.rig.partition(tp).replicas)}")

    def _kill(self) -> None:
        active = self.rig.active
        assert active is not None
        self._killed = active.node_id
        self.rig.mishaps.kill_controller(active.node_id)
        self._event(f"controller {active.node_id} is killed; brokers go on copying")

    def _take_over(self) -> None:
        node = self.rig.active
        assert node is not None
        assert node.controller is not None
        self._successor = node.node_id
        epoch = node.controller.controller_epoch
        self._event(f"controller {node.node_id} leads with controller epoch {epoch}, and continues the moves")

    def _move_cancelled(self) -> None:
        """The partition whose move was cancelled moves to another broker than before."""
        assert self._cancelled is not None
        (avoided,) = self._joining(self._cancelled)
        loads = Counter(broker for p in self._partitions() for broker in p.replicas)
        others = {broker: rack for broker, rack in RACKS.items() if broker != avoided}
        target = replace_broker(self._before[self._cancelled].replicas, LEAVING, others, loads)
        self._plan[self._cancelled] = target
        (joins,) = self._joining(self._cancelled)
        self._move({self._cancelled: target})
        self._event(f"{self._cancelled}: the operator moves it to broker {joins} instead of broker {avoided}")

    # --- what is seen

    def _partitions(self) -> list[Partition]:
        return sorted(self.rig.committed.partitions.values(), key=lambda p: (p.topic, p.partition))

    def _is_moving(self) -> bool:
        return any(p.move is not None for p in self._partitions())

    def _throttles(self) -> bool:
        return any(configs(self.rig, "brokers", str(broker)) for broker in RACKS)

    def _joining(self, tp: TopicPartition) -> list[int]:
        return [broker for broker in self._plan[tp] if broker not in self._before[tp].replicas]

    def _copied_bytes(self, tp: TopicPartition) -> int:
        logs = [self.rig.brokers[broker].log(tp) for broker in self._joining(tp)]
        return sum(log.size_bytes for log in logs if log is not None)

    def _bytes_to_copy(self, tp: TopicPartition) -> int:
        leader = self.rig.leader(tp)
        log = None if leader is None else leader.log(tp)
        return 0 if log is None else log.size_bytes

    def _copied(self) -> float:
        return sum(map(self._copied_bytes, self._plan)) / sum(map(self._bytes_to_copy, self._plan))

    def _event(self, text: str) -> None:
        self.screen.event(self.rig.clock.elapsed_ms, text)

    def _show(self) -> None:
        partitions = self._partitions()
        replicas = Counter(broker for p in partitions for broker in p.replicas)
        leaders = Counter(p.leader for p in partitions)
        lines = [
            BrokerLine(flow.broker, str(RACKS[flow.broker]), replicas[flow.broker], leaders[flow.broker], rate)
            for flow in self._flows
            for rate in [flow.rate(RATE_OVER_MS)]
        ]
        done = sum(self.rig.partition(tp).replicas == target for tp, target in self._plan.items())
        active = None if self.rig.active is None else self.rig.active.node_id
        self.screen.show(
            self.rig.clock.elapsed_ms, Frame(lines, LEAVING, self._copied(), done, len(self._plan), active)
        )

    def lost(self) -> int:
        """Acknowledged records that are not in the log of the partition's leader."""
        lost = 0
        for tp in self.rig.producers.partitions:
            leader = self.rig.leader(tp)
            log = None if leader is None else leader.log(tp)
            if log is None:
                lost += self.rig.producers.acknowledged(tp)
            else:
                lost += sum(run.count for run in self.rig.producers.lost(tp, log))
        return lost
