"""Produce, and InitProducerId: records go to the leader, once, even if their producer sends them again."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Final, Protocol

import attrs

from ...model.logs import NO_PRODUCER, Appended, Batch, LogError
from ...model.values import TopicPartition
from ...runtime.turns import finished
from ..calls import OF_PRODUCER, Api, Call, on_rows
from ..messages import messages_of
from ..protocol import Answer, Request
from ..reading import INTERNAL
from ..security.acls import TRANSACTIONAL_ID
from ..slices import sliced
from .aside import Aside
from .batches import checked, is_brief, read_batch
from .logs import Logs

# 0-2 are listed but refused, as by Kafka 4: librdkafka compresses only if they are listed (KAFKA-18659).
OLDEST: Final = 3
TIMEOUT_MS_MAX: Final = 30_000  # a client may send more; it then gets error 7, and repeats the request
_ACKS: Final = frozenset({-1, 0, 1})
_AT_ONCE: Final = 250  # partitions of a request


class Transactional(Protocol):
    """Appends a batch that is part of a transaction, once that is verified."""

    async def __call__(
        self, broker_id: int | None, tp: TopicPartition, batch: Batch, who: tuple[str, int], /, **named: Any
    ) -> Appended:
        """As `Logs.append`. `who`: the transactional id, and the version of Produce."""


@attrs.frozen
class _Appending:
    logs: Logs
    aside: Aside
    transactional: Transactional | None


def row(logs: Logs, aside: Aside, transactional: Transactional | None = None) -> Api:
    """Produce, over these logs. `aside`: checks batches. `transactional`: appends the batches of transactions; without
    it they are refused."""
    appending = _Appending(logs, aside, transactional)

    async def produce(call: Call, request: Request) -> Answer | None:
        asked = [(topic.name, part) async for topic in sliced(request.topic_data) for part in topic.partition_data]
        answers: list[Appended] = []
        for at in range(0, len(asked), _AT_ONCE):
            part_of = asked[at : at + _AT_ONCE]
            answers += await asyncio.gather(*(_append(appending, call, request, each) for each in part_of))
        if request.acks == 0:
            return None
        rows: dict[str, list[dict[str, Any]]] = {topic.name: [] for topic in request.topic_data}
        async for (name, part), answer in sliced(zip(asked, answers, strict=True)):
            rows[name].append(_row(part.index, answer))
        return {"responses": [{"name": name, "partition_responses": parts} for name, parts in rows.items()]}

    versions = range(12) if transactional is None else range(13)
    access = on_rows("WRITE", "topic_data", "responses")
    return Api(messages_of("Produce", versions), produce, access, is_of_logs=True)


def init_row(logs: Logs) -> Api:
    """InitProducerId, without transactions."""

    async def init_producer_id(_: Call, request: Request) -> Answer:
        if request.transactional_id is not None:  # there are no transactions, as FindCoordinator answers, too
            return {"error_code": LogError.INVALID_REQUEST, "producer_id": -1, "producer_epoch": -1}
        return await init_idempotent(logs, request)

    return Api(messages_of("InitProducerId", range(5)), init_producer_id, OF_PRODUCER, is_of_logs=True)


async def init_idempotent(logs: Logs, request: Request) -> Answer:
    """The id and epoch of a producer without transactions."""
    fresh_id = await asyncio.wrap_future(logs.new_producer_id())
    if getattr(request, "producer_id", -1) >= 0:
        return {"error_code": 0, **_next_epoch(request, fresh_id)}
    return {"error_code": 0, "producer_id": fresh_id, "producer_epoch": 0}


async def _append(appending: _Appending, call: Call, request: Request, asked: tuple[str, Any]) -> Appended:
    name, part = asked
    refused = _refusal(appending, call, request, asked)
    if refused is not None:
        return Appended(refused)
    batch = read_batch(part.records)
    if isinstance(batch, Batch):
        is_short = is_brief(batch)
        batch = finished(checked(batch)) if is_short else await appending.aside.done(call.client, checked(batch))
    if isinstance(batch, LogError):
        return Appended(batch)
    tp, timeout_ms = TopicPartition(name, part.index), min(max(request.timeout_ms, 0), TIMEOUT_MS_MAX)
    named: dict[str, Any] = {"acks": request.acks, "timeout_ms": timeout_ms, "client": call.client}
    if batch.is_transactional:
        return await _in_transaction(appending, call, request, tp, batch, named)
    answer = await asyncio.wrap_future(appending.logs.append(call.broker_id, tp, batch, **named))
    if answer.error is LogError.POLICY_VIOLATION and _ends_with_it(call, batch):
        return attrs.evolve(answer, error=LogError.INVALID_PRODUCER_EPOCH)
    return answer


def _refusal(appending: _Appending, call: Call, request: Request, asked: tuple[str, Any]) -> LogError | None:
    """What is wrong before a record is read."""
    name, part = asked
    if call.version < OLDEST:
        return LogError.UNSUPPORTED_VERSION
    if request.acks not in _ACKS:
        return LogError.INVALID_REQUIRED_ACKS
    if name in INTERNAL:
        return LogError.INVALID_TOPIC_EXCEPTION
    if part.records is not None and len(part.records) > appending.logs.batch_bytes_max(name):
        return LogError.MESSAGE_TOO_LARGE  # before its copy, its crc and its records cost anything
    is_refused = request.transactional_id is not None and appending.transactional is None
    return LogError.INVALID_REQUEST if is_refused else None


async def _in_transaction(  # noqa: PLR0917 - what `_append` has
    appending: _Appending, call: Call, request: Request, tp: TopicPartition, batch: Batch, named: Mapping[str, Any]
) -> Appended:
    transactional_id = request.transactional_id
    if appending.transactional is None:
        return Appended(LogError.INVALID_RECORD)
    if transactional_id is None or not call.may("WRITE", TRANSACTIONAL_ID + transactional_id):
        return Appended(LogError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    return await appending.transactional(call.broker_id, tp, batch, (transactional_id, call.version), **named)


def _ends_with_it(call: Call, batch: Batch) -> bool:
    """Whether the producer would stop for good. kafka-python's idempotent producer does so after most errors that it
    does not retry; after INVALID_PRODUCER_EPOCH it takes a new epoch and continues. Other clients do not get that
    error: franz-go's producer would retry the batch for ever."""
    return call.software == "kafka-python" and batch.producer_id != NO_PRODUCER


def _row(index: int, answer: Appended) -> dict[str, Any]:
    return {
        "index": index,
        "error_code": int(answer.error),
        "base_offset": answer.base_offset,
        "log_append_time_ms": answer.log_append_time_ms,
        "log_start_offset": answer.log_start_offset,
        "record_errors": [
            {"batch_index": place, "batch_index_error_message": why} for place, why in answer.record_errors
        ],
        "error_message": answer.message,
    }


def _next_epoch(request: Request, fresh_id: int) -> dict[str, int]:
    """A producer that continues after an error gets its next epoch, or a new id when its epochs are used up."""
    if request.producer_epoch >= 2**15 - 2:
        return {"producer_id": fresh_id, "producer_epoch": 0}
    return {"producer_id": request.producer_id, "producer_epoch": request.producer_epoch + 1}
