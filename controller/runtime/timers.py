"""The timers of a term: deadlines of moves, topic keys to be rewritten, throttles without a move, and checks at
intervals."""

from __future__ import annotations

import heapq
from collections.abc import Iterable

from ..model.events import Event, PartitionDue, Reason, TopicKeyDue
from ..model.values import Partition
from ..state import ClusterState, DirtyKey
from .idle_throttles import IdleThrottles
from .rebalance import Rebalancing
from .retirements import Retirements
from .services import Services


class Timers:
    """When a move's deadline, a topic's key to be rewritten, a throttle without a move, or a check is due."""

    def __init__(self, services: Services, state: ClusterState) -> None:
        began_ms = services.elapsed_ms()
        self.throttles = IdleThrottles(state)
        self._checks = Rebalancing(services.settings, began_ms), Retirements(state, services.log_reports, began_ms)
        self._rewrite_after_ms = services.settings.topic_rewrite_interval_ms
        self._deadlines: list[tuple[int, str, int]] = []
        self._late_topics: dict[str, int] = {}  # topic -> when its key is due

    def moves(self, partitions: Iterable[Partition]) -> None:
        """Remember the deadlines of these partitions' moves."""
        for partition in partitions:
            if partition.move is not None and partition.move.deadline_ms is not None:
                heapq.heappush(self._deadlines, (partition.move.deadline_ms, partition.topic, partition.partition))

    def topics_late(self, topics: Iterable[str], now_ms: int) -> None:
        """Remember that the keys of these topics lack changes since `now_ms` (`elapsed_ms`)."""
        for topic in topics:
            self._late_topics.setdefault(topic, now_ms + self._rewrite_after_ms)

    def topics_written(self, dirty_keys: Iterable[DirtyKey]) -> None:
        """Forget the topics whose keys were written, among those that `dirty_keys` names."""
        if self._late_topics:
            for kind, of in dirty_keys:
                if kind == "topic":
                    self._late_topics.pop(str(of), None)

    def due(self, now_ms: int, elapsed_ms: int) -> list[Event]:
        """The events that are due; deadlines by the wall clock `now_ms`. The event of a deadline that was replaced
        changes nothing."""
        self.throttles.say(elapsed_ms)
        events: list[Event] = []
        while self._deadlines and self._deadlines[0][0] <= now_ms:
            _, topic, partition = heapq.heappop(self._deadlines)
            events.append(PartitionDue(now_ms, topic, partition, Reason.DEADLINE))
        if self._late_topics:
            late = [topic for topic, due_ms in self._late_topics.items() if due_ms <= elapsed_ms]
            for topic in late:
                del self._late_topics[topic]
                events.append(TopicKeyDue(now_ms, topic))
        for check in self._checks:
            events += check.due(now_ms, elapsed_ms)
        return events

    def next_due_ms(self, now_ms: int, elapsed_ms: int) -> int | None:
        """When the next timer is due, in `elapsed_ms`."""
        times: list[int | None] = [*self._late_topics.values()]
        times += [elapsed_ms + due_ms - now_ms for due_ms, _, _ in self._deadlines[:1]]
        times += [self.throttles.next_due_ms, *(check.next_due_ms for check in self._checks)]
        return min((time for time in times if time is not None), default=None)
