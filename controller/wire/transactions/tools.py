"""WriteTxnMarkers, DescribeProducers, DescribeTransactions and ListTransactions, for tools (KIP-664)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, Final

import attrs

from ...coordinators import CoordinatorError
from ...model.logs import Appended, EndMarker
from ...model.values import TopicPartition
from ...transactions.records import State
from ...transactions.replies import Described, Listed
from ...transactions.requests import Describe
from ..apis.answering import by_topic, by_topic_in_slices
from ..calls import CLUSTER_ACTION, Api, Call, on_named, on_rows
from ..coordinators import answer_of
from ..data.logs import Logs
from ..messages import messages_of
from ..patterns import compiled
from ..protocol import Answer, Request
from ..security.acls import CLUSTER, TOPIC
from ..slices import sliced
from .hosts import NO_RIGHTS, Transactions, may, partitions_in

_AT_ONCE: Final = 250  # markers of a request
_SHORT: Final = 250  # characters of an id: no pattern takes longer than a slice
OF_EACH: Final = "each transactional id"
OF_MARKERS: Final = "the cluster, or CLUSTER_ACTION"
_STATES: Final = frozenset(state.value for state in State)
_NOT_TOLD: Final = {"transaction_state": "", "transaction_timeout_ms": 0, "transaction_start_time_ms": -1}
_NO_PRODUCER: Final = {"producer_id": -1, "producer_epoch": -1, "topics": []}


@attrs.frozen
class _Tools:
    transactions: Transactions
    logs: Logs

    async def write_txn_markers(self, call: Call, request: Request) -> Answer:
        """End transactions in partitions that this broker leads: `kafka-transactions abort` does that."""
        error = CoordinatorError.NONE
        if not (call.may("ALTER", CLUSTER) or call.may(CLUSTER_ACTION, CLUSTER)):
            error = CoordinatorError.CLUSTER_AUTHORIZATION_FAILED
        return {"markers": [await self._written(call, marker, error) for marker in request.markers]}

    async def _written(self, call: Call, row: Any, error: CoordinatorError) -> dict[str, Any]:
        """Markers in all partitions of the row, or in none if there is an error."""
        marker = EndMarker(row.transaction_result, row.coordinator_epoch)
        tps = await partitions_in(row.topics, "partition_indexes")
        errors = [int(error)] * len(tps)
        for at in range(0, 0 if error else len(tps), _AT_ONCE):
            part = tps[at : at + _AT_ONCE]
            answers = await asyncio.gather(*(self._end(call, tp, row, marker) for tp in part))
            errors[at : at + _AT_ONCE] = [int(answer.error) for answer in answers]
        pairs = zip(tps, errors, strict=True)
        topics = await _by_topic((tp, {"partition_index": tp.partition, "error_code": code}) for tp, code in pairs)
        return {"producer_id": row.producer_id, "topics": topics}

    async def _end(self, call: Call, tp: TopicPartition, row: Any, marker: EndMarker) -> Appended:
        who = (row.producer_id, row.producer_epoch)
        ended = self.transactions.end(call.broker_id, tp, *who, marker, client=call.client)
        return await asyncio.wrap_future(ended)

    async def describe_producers(self, call: Call, request: Request) -> Answer:
        tps = await partitions_in(request.topics, "partition_indexes")
        return {"topics": await _by_topic([(tp, await self._producers(call, tp)) async for tp in sliced(tps)])}

    async def _producers(self, call: Call, tp: TopicPartition) -> dict[str, Any]:
        found = await asyncio.wrap_future(self.logs.active_producers(call.broker_id, tp, client=call.client))
        rows = [
            {
                "producer_id": each.producer_id,
                "producer_epoch": each.producer_epoch,
                "last_sequence": each.last_sequence,
                "last_timestamp": each.last_timestamp_ms,
                "coordinator_epoch": each.coordinator_epoch,
                "current_txn_start_offset": each.transaction_offset,
            }
            async for each in sliced(found.producers)
        ]
        return {"partition_index": tp.partition, "error_code": int(found.error), "active_producers": rows}

    async def describe_transactions(self, call: Call, request: Request) -> Answer:
        ids = dict.fromkeys(request.transactional_ids)
        return {"transaction_states": [await self._described(call, each) async for each in sliced(ids)]}

    async def _described(self, call: Call, transactional_id: str) -> dict[str, Any]:
        found: Described | CoordinatorError = NO_RIGHTS
        if may(call, "DESCRIBE", transactional_id):
            found = await answer_of(self.transactions.ask(call.broker_id, Describe(transactional_id)), Described)
        if not isinstance(found, Described):
            return {"transactional_id": transactional_id, "error_code": int(found), **_NOT_TOLD, **_NO_PRODUCER}
        stored = found.stored
        shown = [tp async for tp in sliced(stored.partitions) if call.may("DESCRIBE", TOPIC + tp.topic)]
        topics = by_topic((tp.topic, tp.partition) for tp in sorted(shown))
        return {
            "transactional_id": transactional_id,
            "error_code": 0,
            "transaction_state": stored.state.value,
            "transaction_timeout_ms": stored.timeout_ms,
            "transaction_start_time_ms": stored.start_ms,
            "producer_id": stored.producer_id,
            "producer_epoch": stored.producer_epoch,
            "topics": [{"topic": topic, "partitions": partitions} for topic, partitions in topics.items()],
        }

    async def list_transactions(self, call: Call, request: Request) -> Answer:
        is_shown = _filter(request)
        pattern = getattr(request, "transactional_id_pattern", None)
        try:
            matches = compiled(pattern) if pattern else None
        except ValueError:
            code = int(CoordinatorError.INVALID_REGULAR_EXPRESSION)
            return {"error_code": code, "unknown_state_filters": [], "transaction_states": []}
        error, listed = await asyncio.wrap_future(self.transactions.listed(call.broker_id))
        shown = [
            {
                "transactional_id": row.transactional_id,
                "producer_id": row.producer_id,
                "transaction_state": row.state.value,
            }
            async for row in sliced(listed)
            if is_shown(row)
            and may(call, "DESCRIBE", row.transactional_id)
            and (matches is None or await _matches(call, matches, row.transactional_id))
        ]
        unknown = sorted(set(request.state_filters) - _STATES)
        return {"error_code": int(error), "unknown_state_filters": unknown, "transaction_states": shown}


def table(transactions: Transactions, logs: Logs) -> Iterator[Api]:
    """The rows."""
    handlers = _Tools(transactions, logs)
    rows = (
        ("WriteTxnMarkers", range(1, 3), handlers.write_txn_markers, on_named("ALTER", OF_MARKERS)),
        ("DescribeProducers", range(1), handlers.describe_producers, on_rows("READ", "topics", "topics")),
        ("DescribeTransactions", range(1), handlers.describe_transactions, on_named("DESCRIBE", OF_EACH)),
        ("ListTransactions", range(3), handlers.list_transactions, on_named("DESCRIBE", OF_EACH)),
    )
    for name, versions, handler, access in rows:
        yield Api(messages_of(name, versions), handler, access, is_of_logs=True)


async def _by_topic(rows: Iterable[tuple[TopicPartition, dict[str, Any]]]) -> list[dict[str, Any]]:
    topics = await by_topic_in_slices((tp.topic, row) for tp, row in rows)
    return [{"name": name, "partitions": partitions} for name, partitions in topics.items()]


async def _matches(call: Call, matches: Callable[[str], bool], transactional_id: str) -> bool:
    """In a thread where it may take long."""
    if len(transactional_id) <= _SHORT:
        return matches(transactional_id)
    found: bool = await call.aside(partial(matches, transactional_id))
    return found


def _filter(request: Request) -> Callable[[Listed], bool]:
    """Which transactions are wanted. A filter that is empty lets all pass."""
    states, ids = set(request.state_filters), set(request.producer_id_filters)
    running_ms = getattr(request, "duration_filter", None)
    running_ms = -1 if running_ms is None else running_ms
    now_ms = time.time_ns() // 1_000_000

    def is_shown(row: Listed) -> bool:
        is_of = (not states or row.state.value in states) and (not ids or row.producer_id in ids)
        return is_of and (running_ms < 0 or now_ms - row.start_ms > running_ms)  # of ids without one, too, as in Kafka

    return is_shown
