"""Batches with acks=all that wait for their replicas: they are answered in the order of the log, or when their time is
over."""

from __future__ import annotations

from bisect import insort
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from heapq import heappop, heappush
from itertools import count
from operator import attrgetter
from typing import Final

import attrs

from ..model.logs import Appended, LogError
from ..model.values import TopicPartition
from ..simulated.broker import Broker
from ..simulated.replica import Replica, Role
from .futures import complete

_LOOKED_AT: Final = 1_000  # partitions with waiting batches in a step


@attrs.define(eq=False)
class Promise:
    """A batch that waits for its replicas."""

    replica: Replica
    leader_epoch: int
    end_offset: int
    answer: Appended
    tp: TopicPartition
    future: Future[Appended]


@attrs.define(eq=False)
class Promises:
    """All of them. `isr_min`: how many replicas of a partition have to be in sync."""

    brokers: Mapping[int, Broker]
    isr_min: Callable[[TopicPartition], int]
    _waiting: OrderedDict[Replica, deque[Promise]] = attrs.field(factory=OrderedDict)
    _deadlines: list[tuple[float, int, Promise]] = attrs.field(factory=list)
    _numbers: Iterator[int] = attrs.field(factory=count)

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def add(self, one: Promise, deadline_s: float) -> None:
        """Answer the batch now, or let it wait. One that is sent again waits for less than those that came after it."""
        insort(self._waiting.setdefault(one.replica, deque()), one, key=attrgetter("end_offset"))
        self._settle(one.replica)
        if not one.future.done():
            heappush(self._deadlines, (deadline_s, next(self._numbers), one))

    def step(self, now_s: float) -> None:
        """Answer the batches whose replicas have them by now, or whose time is over."""
        for _ in range(min(len(self._waiting), _LOOKED_AT)):
            replica = next(iter(self._waiting))
            self._waiting.move_to_end(replica)
            self._settle(replica)
        while self._deadlines and self._deadlines[0][0] <= now_s:
            _, _, one = heappop(self._deadlines)
            self._settle(one.replica)
            complete(one.future, Appended(LogError.REQUEST_TIMED_OUT))
            self._settle(one.replica)

    def close(self) -> None:
        """All get an error upon which clients retry."""
        for waiting in self._waiting.values():
            for one in waiting:
                complete(one.future, Appended(LogError.NOT_LEADER_OR_FOLLOWER))
        self._waiting, self._deadlines = OrderedDict(), []

    def _settle(self, replica: Replica) -> None:
        """Answer the producers of batches on this replica, in the order of the log, up to the first batch that still
        waits for its followers."""
        waiting = self._waiting.get(replica, deque())
        while waiting and (waiting[0].future.done() or self._is_kept(waiting[0])):
            waiting.popleft()
        if not waiting:
            self._waiting.pop(replica, None)

    def _is_kept(self, one: Promise) -> bool:
        answer = None
        with self.brokers[one.replica.broker].isolated(one.replica):
            answer = self._outcome(one)
        if answer is not None:
            complete(one.future, answer)
        return answer is not None

    def _outcome(self, one: Promise) -> Appended | None:
        replica = one.replica
        if replica.log.high_watermark >= one.end_offset and replica.leader_epoch == one.leader_epoch:
            enough = len(replica.isr) >= self.isr_min(one.tp)
            return one.answer if enough else attrs.evolve(one.answer, error=LogError.NOT_ENOUGH_REPLICAS_AFTER_APPEND)
        is_led = replica.role is Role.LEADER and replica.leader_epoch == one.leader_epoch
        return None if is_led else Appended(LogError.NOT_LEADER_OR_FOLLOWER)
