"""InitProducerId, AddPartitionsToTxn, AddOffsetsToTxn and EndTxn."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any, Final

import attrs

from ...coordinators import OFFSETS_TOPIC, CoordinatorError
from ...model.errors import NotController
from ...model.values import TopicPartition
from ...transactions.changes import NEW_EPOCHS
from ...transactions.replies import Identified
from ...transactions.requests import AddPartitions, End, Initialize, VerifyPartitions
from ..apis.answering import by_topic_in_slices
from ..calls import CLUSTER_ACTION, OF_PRODUCER, Api, Call, on_named
from ..coordinators import place_of, with_topic
from ..data.logs import Logs
from ..data.produce import init_idempotent
from ..groups.hosts import Groups, identity
from ..messages import messages_of
from ..protocol import Answer, Request
from ..reading import INTERNAL
from ..security.acls import CLUSTER, GROUP, TOPIC
from ..slices import sliced
from .hosts import NO_RIGHTS, OF_ID, Transactions, error_of, may, partitions_in

_FENCED_SINCE: Final = 2
_FENCED_ON_INIT_SINCE: Final = 4
_BATCHED_SINCE: Final = 4
_NEW_EPOCHS_SINCE: Final = 5


@attrs.frozen
class _Producers:
    transactions: Transactions
    groups: Groups
    logs: Logs
    partitions: int

    async def init_producer_id(self, call: Call, request: Request) -> Answer:
        """An id and an epoch. A former process with the transactional id is fenced."""
        if request.transactional_id is None:
            if not (call.may("IDEMPOTENT_WRITE", CLUSTER) or call.may("WRITE", TOPIC)):  # KIP-679
                return _identified(call, Identified(CoordinatorError.CLUSTER_AUTHORIZATION_FAILED), 0)
            return await init_idempotent(self.logs, request)
        if not may(call, "WRITE", request.transactional_id):
            return _identified(call, Identified(NO_RIGHTS), _FENCED_ON_INIT_SINCE)
        named = [getattr(request, name, -1) for name in ("producer_id", "producer_epoch")]
        producer_id, epoch = (-1 if value is None else value for value in named)
        if (producer_id < 0) != (epoch < 0):
            return _identified(call, Identified(CoordinatorError.INVALID_REQUEST), _FENCED_ON_INIT_SINCE)
        timeout_ms = request.transaction_timeout_ms
        asked = Initialize(request.transactional_id, timeout_ms, producer_id, epoch, identity(call))
        return _identified(call, await self._ask(call, asked), _FENCED_ON_INIT_SINCE)

    async def add_partitions_to_txn(self, call: Call, request: Request) -> Answer:
        """Of a producer, or (since version 4) of brokers for many producers at once."""
        if call.version < _BATCHED_SINCE:
            asked = (request.v3_and_below_transactional_id, *_producer(request, "v3_and_below_"))
            errors = await self._add(call, *asked, request.v3_and_below_topics)
            codes = {tp: _fenced(call, error, _FENCED_SINCE) async for tp, error in sliced(errors.items())}
            return {"results_by_topic_v3_and_below": await _by_topic(codes)}
        if not call.may(CLUSTER_ACTION, CLUSTER):
            return {"error_code": int(CoordinatorError.CLUSTER_AUTHORIZATION_FAILED)}
        rows = [await self._of_broker(call, each) for each in request.transactions]
        return {"error_code": 0, "results_by_transaction": rows}

    async def add_offsets_to_txn(self, call: Call, request: Request) -> Answer:
        """The transaction includes the partition that has the offsets of a group."""
        if not may(call, "WRITE", request.transactional_id):
            return {"error_code": int(NO_RIGHTS)}
        if not call.may("READ", GROUP + request.group_id):
            return {"error_code": int(CoordinatorError.GROUP_AUTHORIZATION_FAILED)}
        tp = await asyncio.wrap_future(self.groups.place_of(request.group_id))
        if tp is None:
            with suppress(NotController):  # another process has the active one
                tp = place_of(await with_topic(call, OFFSETS_TOPIC, self.partitions), request.group_id)
        if tp is None:
            return {"error_code": int(CoordinatorError.COORDINATOR_NOT_AVAILABLE)}
        asked = AddPartitions(request.transactional_id, *_producer(request), [tp])
        return {"error_code": _fenced(call, await error_of(self.transactions, call.broker_id, asked), _FENCED_SINCE)}

    async def end_txn(self, call: Call, request: Request) -> Answer:
        """Commit or abort. The answer comes when that is decided; markers are written afterwards."""
        if not may(call, "WRITE", request.transactional_id):
            return _identified(call, Identified(NO_RIGHTS), _FENCED_SINCE)
        version = NEW_EPOCHS if call.version >= _NEW_EPOCHS_SINCE else 0
        asked = End(request.transactional_id, *_producer(request), request.committed, version)
        return _identified(call, await self._ask(call, asked), _FENCED_SINCE)

    # --- inside

    async def _ask(self, call: Call, asked: Initialize | End) -> Identified:
        reply = await asyncio.wrap_future(self.transactions.ask(call.broker_id, asked))
        return reply if isinstance(reply, Identified) else Identified(CoordinatorError.UNKNOWN_SERVER_ERROR)

    async def _add(
        self, call: Call, transactional_id: str, producer_id: int, producer_epoch: int, topics: Iterable[Any]
    ) -> Mapping[TopicPartition, CoordinatorError]:
        """All partitions, or none and the reasons."""
        partitions = await partitions_in(topics, "partitions")
        if not may(call, "WRITE", transactional_id):
            return dict.fromkeys(partitions, NO_RIGHTS)
        flaws = await self._flaws(call, partitions)
        if flaws:
            return dict.fromkeys(partitions, CoordinatorError.OPERATION_NOT_ATTEMPTED) | flaws
        asked = AddPartitions(transactional_id, producer_id, producer_epoch, partitions)
        return dict.fromkeys(partitions, await error_of(self.transactions, call.broker_id, asked))

    async def _flaws(self, call: Call, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, CoordinatorError]:
        """Why partitions cannot be part of a transaction."""
        unknown, flaws = await asyncio.wrap_future(self.transactions.unknown(partitions)), {}
        async for tp in sliced(partitions):
            if tp.topic in INTERNAL or not call.may("WRITE", TOPIC + tp.topic):
                flaws[tp] = CoordinatorError.TOPIC_AUTHORIZATION_FAILED
            elif tp in unknown:
                flaws[tp] = CoordinatorError.UNKNOWN_TOPIC_OR_PARTITION
        return flaws

    async def _of_broker(self, call: Call, row: Any) -> dict[str, Any]:
        partitions = await partitions_in(row.topics, "partitions")
        kind = VerifyPartitions if row.verify_only else AddPartitions
        asked = kind(row.transactional_id, *_producer(row), partitions)
        errors = dict.fromkeys(partitions, await error_of(self.transactions, call.broker_id, asked))
        return {"transactional_id": row.transactional_id, "topic_results": await _by_topic(errors)}


def table(transactions: Transactions, groups: Groups, logs: Logs, partitions: int) -> Iterator[Api]:
    """The rows. `partitions`: of `__consumer_offsets`, if it has to be created."""
    handlers = _Producers(transactions, groups, logs, partitions)
    rows = (
        ("AddPartitionsToTxn", range(6), handlers.add_partitions_to_txn),
        ("AddOffsetsToTxn", range(5), handlers.add_offsets_to_txn),
        ("EndTxn", range(6), handlers.end_txn),
    )
    for name, versions, handler in rows:
        yield Api(messages_of(name, versions), handler, on_named("WRITE", OF_ID), is_of_logs=True, never_waits=True)
    of_producers = on_named(OF_PRODUCER.operation, "the cluster, or WRITE on some topic (KIP-679)")
    yield Api(messages_of("InitProducerId", range(6)), handlers.init_producer_id, of_producers, is_of_logs=True)


def _producer(row: Any, prefix: str = "") -> tuple[int, int]:
    return getattr(row, f"{prefix}producer_id"), getattr(row, f"{prefix}producer_epoch")


async def _by_topic(codes: Mapping[TopicPartition, int]) -> list[dict[str, Any]]:
    rows = ((tp.topic, {"partition_index": tp.partition, "partition_error_code": int(c)}) for tp, c in codes.items())
    return [{"name": name, "results_by_partition": each} for name, each in (await by_topic_in_slices(rows)).items()]


def _fenced(call: Call, error: CoordinatorError, since: int) -> int:
    """The code; clients before version `since` do not know PRODUCER_FENCED (KIP-588)."""
    is_new = error is CoordinatorError.PRODUCER_FENCED and call.version < since
    return int(CoordinatorError.INVALID_PRODUCER_EPOCH if is_new else error)


def _identified(call: Call, found: Identified, since: int) -> Answer:
    code = _fenced(call, found.error, since)
    return {"error_code": code, "producer_id": found.producer_id, "producer_epoch": found.producer_epoch}
