"""Whether a batch may begin a transaction in its partition (KIP-890).

A leader whose log has no transaction of the producer asks the coordinator, which must know that the transaction
includes the partition: a batch of a former process would otherwise begin one that never ends. Producers of transaction
version 2 do not add partitions themselves, so the coordinator adds them here.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final

import attrs

from ...coordinators import CoordinatorError
from ...coordinators.records import Producer
from ...model.logs import Appended, Batch, LogError
from ...model.values import TopicPartition
from ...transactions.changes import NEW_EPOCHS
from ...transactions.requests import AddPartitions, VerifyPartitions
from ..data.logs import Logs
from .hosts import Transactions, error_of

_WAIT_S: Final = 0.005
_TRIES: Final = 20
AGAIN: Final = 3
"""How many times a write in a transaction is tried, each time with a new guard."""
_LATER: Final = frozenset(
    {
        CoordinatorError.COORDINATOR_LOAD_IN_PROGRESS,
        CoordinatorError.COORDINATOR_NOT_AVAILABLE,
        CoordinatorError.NOT_COORDINATOR,
    }
)
_ERRORS: Final = {
    CoordinatorError.PRODUCER_FENCED: LogError.INVALID_PRODUCER_EPOCH,
    CoordinatorError.INVALID_PRODUCER_ID_MAPPING: LogError.INVALID_PRODUCER_ID_MAPPING,
    CoordinatorError.TRANSACTION_ABORTABLE: LogError.TRANSACTION_ABORTABLE,
    CoordinatorError.CONCURRENT_TRANSACTIONS: LogError.CONCURRENT_TRANSACTIONS,
    CoordinatorError.INVALID_REQUEST: LogError.INVALID_REQUEST,
    **dict.fromkeys(_LATER, LogError.NOT_ENOUGH_REPLICAS),
}
_MESSAGES: Final = {
    LogError.INVALID_REQUEST: "All partitions of a transaction must be on brokers of the coordinator's process."
}
_ABORTABLE_SINCE: Final = 11
_ADDS_SINCE: Final = 12


@attrs.frozen
class Verifying:
    """For the logs and the coordinators of one cluster."""

    logs: Logs
    transactions: Transactions

    async def append(
        self, broker_id: int | None, tp: TopicPartition, batch: Batch, who: tuple[str, int], /, **named: Any
    ) -> Appended:
        """Append a transactional batch. `who`: the transactional id, and the version of Produce."""
        answer = await asyncio.wrap_future(self.logs.append(broker_id, tp, batch, **named))
        transactional_id, version = who
        adds = version >= _ADDS_SINCE
        producer = Producer(batch.producer_id, batch.producer_epoch)
        for _ in range(AGAIN):  # a marker, or another leader, may come between the guard and the batch
            if answer.error is not LogError.INVALID_TXN_STATE:
                break
            found = await self.guard(broker_id, tp, transactional_id, producer, adds=adds)
            if isinstance(found, LogError):
                return Appended(found)
            if isinstance(found, CoordinatorError):
                error = _error(found, version)
                return Appended(error, message=_MESSAGES.get(error))
            if adds and found.guard is not None and batch.base_sequence:  # an earlier one was refused, and comes again
                return Appended(LogError.OUT_OF_ORDER_SEQUENCE_NUMBER)
            answer = await asyncio.wrap_future(self.logs.append(broker_id, tp, batch, **named, guard=found.guard))
        return answer

    async def guard(
        self, broker_id: int | None, tp: TopicPartition, transactional_id: str, producer: Producer, *, adds: bool
    ) -> Producer | CoordinatorError | LogError:
        """The producer with what it takes to begin its transaction in this partition. `adds`: the coordinator adds the
        partition, once the transaction before is complete, for which this waits a while. LogError: of the partition's
        leader."""
        who = (producer.producer_id, producer.producer_epoch)
        left = _TRIES if adds else 1
        while True:
            found = await asyncio.wrap_future(self.logs.guard(broker_id, tp, *who))
            if found.error:
                return found.error
            error = CoordinatorError.NONE
            if found.guard is not None:
                asked: Any = VerifyPartitions(transactional_id, *who, [tp])
                if adds:
                    asked = AddPartitions(transactional_id, *who, [tp], NEW_EPOCHS)
                error = await error_of(self.transactions, None, asked)
            left -= 1
            if error is CoordinatorError.CONCURRENT_TRANSACTIONS and left:
                await asyncio.sleep(_WAIT_S)
            else:
                return error or attrs.evolve(producer, guard=found.guard)


def _error(error: CoordinatorError, version: int) -> LogError:
    """As the producer may get it. Those before transaction version 2 do not retry CONCURRENT_TRANSACTIONS."""
    found = _ERRORS.get(error, LogError.UNKNOWN_SERVER_ERROR)
    if found is LogError.CONCURRENT_TRANSACTIONS and version < _ADDS_SINCE:
        return LogError.NOT_ENOUGH_REPLICAS
    is_new = found is LogError.TRANSACTION_ABORTABLE and version < _ABORTABLE_SINCE
    return LogError.INVALID_TXN_STATE if is_new else found
