"""The interface of handlers to the coordinators of transactions, and the rights that requests need."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from concurrent.futures import Future
from typing import Any, Final, Protocol, TypeVar

from ...coordinators import CoordinatorError
from ...coordinators.records import RecordCodec
from ...coordinators.turn import Answered
from ...model.logs import Appended, EndMarker
from ...model.values import TopicPartition
from ...transactions.records import TransactionRecord
from ...transactions.replies import Listed, Reply
from ...transactions.requests import TransactionRequest, TransactionSettings
from ..calls import Call
from ..security.acls import TRANSACTIONAL_ID

T = TypeVar("T")
OF_ID: Final = "the transactional id"
NO_RIGHTS: Final = CoordinatorError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED


class Transactions(Protocol):
    """Every call returns at once; the future has the answer. `broker_id`: the broker whose address the client called,
    None for the common address, where any coordinator answers."""

    def begin(self, codec: RecordCodec[TransactionRecord], settings: TransactionSettings | None = None) -> None:
        """Answer requests from now on. `codec`: for the records. `settings` None: unchanged."""

    def ask(self, broker_id: int | None, asked: TransactionRequest) -> Future[Reply]:
        """The answer of the coordinator of the transactional id, NOT_COORDINATOR if it is elsewhere."""

    def listed(self, broker_id: int | None) -> Future[tuple[CoordinatorError, list[Listed]]]:
        """All transactional ids whose coordinators are on this broker."""

    def end(
        self,
        broker_id: int | None,
        tp: TopicPartition,
        producer_id: int,
        producer_epoch: int,
        marker: EndMarker,
        *,
        client: str,
    ) -> Future[Appended]:
        """The marker is in the log of the partition. `client`: clients take turns."""


async def ask(
    transactions: Transactions, broker_id: int | None, asked: TransactionRequest, kind: type[T]
) -> T | CoordinatorError:
    """The answer of this kind, or the error of the whole request."""
    reply: Any = await asyncio.wrap_future(transactions.ask(broker_id, asked))
    return reply.error if isinstance(reply, Answered) and kind is not Answered else reply


async def error_of(transactions: Transactions, broker_id: int | None, asked: TransactionRequest) -> CoordinatorError:
    """The error of a request that has no other answer."""
    found = await ask(transactions, broker_id, asked, Answered)
    return found.error if isinstance(found, Answered) else found


def may(call: Call, operation: str, transactional_id: str) -> bool:
    """Whether the client has the right to this operation on the transactional id."""
    return call.may(operation, TRANSACTIONAL_ID + transactional_id)


def by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[int]]:
    """The partitions of each topic."""
    topics: dict[str, list[int]] = {}
    for tp in partitions:
        topics.setdefault(tp.topic, []).append(tp.partition)
    return topics
