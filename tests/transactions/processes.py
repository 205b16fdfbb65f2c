"""What a process of a live cluster does for transactions, in virtual time: on some of the brokers of a rig."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, Final, TypeVar

import attrs

from kedge.controller.coordinators import CoordinatorError
from kedge.controller.model.logs import Batch
from kedge.controller.rig import Rig
from kedge.controller.server.groups import LiveGroups
from kedge.controller.server.logs import LiveLogs
from kedge.controller.server.shelves import Shelves
from kedge.controller.server.transactions import LiveTransactions
from kedge.controller.transactions.records import PREPARED, State
from kedge.controller.transactions.replies import Identified
from kedge.controller.transactions.requests import Describe, End, Initialize
from kedge.controller.wire.data.batches import packed, transactional
from kedge.controller.wire.data.compacting import BatchRecords
from kedge.controller.wire.transactions import TransactionRecords
from kedge.controller.wire.transactions.verifying import Verifying

T = TypeVar("T")
_STEPS_MAX: Final = 200


class Process:
    """The logs and coordinators of these brokers."""

    def __init__(self, rig: Rig, *broker_ids: int) -> None:
        self._rig = rig
        self._queue: deque[Callable[[], None]] = deque()
        brokers = {broker_id: rig.brokers[broker_id] for broker_id in broker_ids}
        settings, soon = rig.network.settings, self._queue.append
        clock = rig.clock.monotonic_s
        self.logs = LiveLogs(brokers, settings, soon, lambda _: None, Shelves(brokers, settings), clock=clock)
        self.logs.begin(BatchRecords())
        self.transactions = LiveTransactions(brokers, self.logs, soon, LiveGroups(brokers, self.logs, soon))
        self.transactions.begin(TransactionRecords())
        self.verifying = Verifying(self.logs, self.transactions)

    def step(self) -> None:
        """A tick."""
        self._rig.step()
        self.drain()
        self.logs.step()
        self.transactions.step()
        self.drain()

    def drain(self, count: int = _STEPS_MAX) -> None:
        """Handle what is there at once: so many calls."""
        while self._queue and count:
            self._queue.popleft()()
            count -= 1

    def result(self, future: Future[T]) -> T:
        """The answer."""
        for _ in range(_STEPS_MAX):
            if future.done():
                break
            self.step()
        return future.result(0)

    def run(self, work: Coroutine[Any, Any, T], between: Callable[[int], None] = lambda _: None) -> T:
        """The result of a handler. `between`: is called with the number of each step, before it."""

        async def running() -> T:
            task = asyncio.ensure_future(work)
            for number in range(_STEPS_MAX):
                await asyncio.sleep(0)
                if task.done():
                    break
                between(number)
                self.step()
            return task.result()

        return asyncio.run(running())

    def initialized(self, transactional_id: str = "t") -> Identified:
        """A producer, as soon as the coordinator is loaded."""
        asked = Initialize(transactional_id, 60_000)
        for _ in range(_STEPS_MAX):
            found: Identified = self.result(self.transactions.ask(None, asked))
            if not found.error:
                return found
            self.step()
        raise AssertionError("the coordinator gives no id")

    def state(self, transactional_id: str = "t") -> State:
        """Of the transaction."""
        found: State = self.result(self.transactions.ask(None, Describe(transactional_id))).stored.state
        return found

    def end(self, producer: Identified, version: int = 2) -> CoordinatorError:
        """Commit, until all markers are written."""
        asked = End("t", producer.producer_id, producer.producer_epoch, is_commit=True, version=version)
        found: Identified = self.result(self.transactions.ask(None, asked))
        self.until_complete()
        return found.error

    def until_complete(self, transactional_id: str = "t") -> None:
        """All markers are written, if an end is decided."""

        def is_complete() -> bool:
            self.step()
            return self.state(transactional_id) not in PREPARED

        self._rig.until(is_complete, what="the transaction is complete")


def batch(producer: Identified) -> Batch:
    """The first batch that the producer sends to a partition."""
    plain = packed([(b"k", b"v")], 0)
    return attrs.evolve(transactional(plain, producer.producer_id, producer.producer_epoch), base_sequence=0)
