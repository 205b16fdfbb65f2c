"""The interface of handlers to the coordinators of transactions, and the rights that requests need."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import Future
from typing import Any, Final, Protocol

from ...coordinators import CoordinatorError
from ...coordinators.records import RecordCodec
from ...coordinators.turn import Answered
from ...model.logs import Appended, EndMarker
from ...model.values import TopicPartition
from ...transactions.records import TransactionRecord
from ...transactions.replies import Listed, Reply
from ...transactions.requests import TransactionRequest, TransactionSettings
from ..calls import Call
from ..coordinators import answer_of
from ..security.acls import TRANSACTIONAL_ID
from ..slices import sliced

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

    def unknown(self, partitions: Iterable[TopicPartition]) -> Future[frozenset[TopicPartition]]:
        """Those of the partitions that do not exist."""

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


async def error_of(transactions: Transactions, broker_id: int | None, asked: TransactionRequest) -> CoordinatorError:
    """The error of a request that has no other answer."""
    found = await answer_of(transactions.ask(broker_id, asked), Answered)
    return found.error if isinstance(found, Answered) else found


def may(call: Call, operation: str, transactional_id: str) -> bool:
    """Whether the client has the right to this operation on the transactional id."""
    return call.may(operation, TRANSACTIONAL_ID + transactional_id)


async def partitions_in(topics: Iterable[Any], field: str) -> list[TopicPartition]:
    """Each partition that a request names in this field of its topics, once."""
    named = (TopicPartition(topic.name, each) for topic in topics for each in getattr(topic, field))
    return list({tp: None async for tp in sliced(named)})
