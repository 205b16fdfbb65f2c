"""TxnOffsetCommit: offsets that are committed with a transaction (KIP-98, KIP-447)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Mapping
from typing import Any, Final

import attrs

from ...coordinators import CoordinatorError
from ...coordinators.records import Producer
from ...groups.records import Committed
from ...groups.replies import OffsetErrors
from ...groups.requests import Commit
from ...model.logs import LogError
from ...model.values import TopicPartition
from ..calls import Api, Call, on_named
from ..groups.hosts import NO_RIGHTS as NO_GROUP_RIGHTS
from ..groups.hosts import Groups, ask, identity, may_topic
from ..groups.hosts import may as may_group
from ..groups.offsets import asked_of, committed_of, error_row, topics_of
from ..messages import messages_of
from ..protocol import Answer, Request
from ..slices import sliced
from .hosts import NO_RIGHTS, OF_ID, may
from .verifying import AGAIN, Verifying

_ADDS_SINCE: Final = 5
_ABORTABLE_SINCE: Final = 4
_ERRORS: Final = {
    CoordinatorError.PRODUCER_FENCED: CoordinatorError.INVALID_PRODUCER_EPOCH,
    CoordinatorError.COORDINATOR_LOAD_IN_PROGRESS: CoordinatorError.COORDINATOR_NOT_AVAILABLE,
    CoordinatorError.NOT_COORDINATOR: CoordinatorError.COORDINATOR_NOT_AVAILABLE,
}


@attrs.frozen
class _Offsets:
    groups: Groups
    verifying: Verifying

    async def txn_offset_commit(self, call: Call, request: Request) -> Answer:
        now_ms = time.time_ns() // 1_000_000
        offsets = {tp: committed_of(part, now_ms) async for tp, part in sliced(asked_of(request.topics))}
        error = CoordinatorError.NONE
        if not may(call, "WRITE", request.transactional_id):
            error = NO_RIGHTS
        elif not may_group(call, "READ", request.group_id):
            error = NO_GROUP_RIGHTS
        if error:
            return {"topics": await topics_of((tp, error_row(tp, error)) for tp in offsets)}
        allowed = {tp: c async for tp, c in sliced(offsets.items()) if may_topic(call, "READ", tp.topic)}
        errors = await self._commit(call, request, allowed)
        refused = CoordinatorError.TOPIC_AUTHORIZATION_FAILED
        return {"topics": await topics_of((tp, error_row(tp, errors.get(tp, refused))) for tp in offsets)}

    async def _commit(
        self, call: Call, request: Request, offsets: Mapping[TopicPartition, Committed]
    ) -> Mapping[TopicPartition, CoordinatorError]:
        if not offsets:
            return {}
        member = [getattr(request, name, None) for name in ("generation_id", "member_id", "group_instance_id")]
        generation, member_id, instance_id = member
        who = (-1 if generation is None else generation, member_id or "", instance_id)
        errors: Mapping[TopicPartition, CoordinatorError] = {}
        for _ in range(AGAIN):  # a marker, or another leader, may come between the guard and the offsets
            producer = await self._producer(call, request)
            if isinstance(producer, CoordinatorError):
                return dict.fromkeys(offsets, producer)
            asked = Commit(request.group_id, offsets, *who, principal=identity(call), producer=producer)
            found = await ask(self.groups, call, asked, OffsetErrors)
            errors = found.errors if isinstance(found, OffsetErrors) else dict.fromkeys(offsets, found)
            if CoordinatorError.INVALID_TXN_STATE not in errors.values():
                break
        return errors

    async def _producer(self, call: Call, request: Request) -> Producer | CoordinatorError:
        """The producer, whose transaction includes the partition of the group."""
        tp = await asyncio.wrap_future(self.groups.place_of(request.group_id))
        if tp is None:
            return CoordinatorError.NOT_COORDINATOR
        producer = Producer(request.producer_id, request.producer_epoch)
        adds = call.version >= _ADDS_SINCE
        guarded: Any = await self.verifying.guard(call.broker_id, tp, request.transactional_id, producer, adds=adds)
        if isinstance(guarded, LogError):
            return CoordinatorError.NOT_COORDINATOR
        if guarded is CoordinatorError.TRANSACTION_ABORTABLE and call.version < _ABORTABLE_SINCE:
            return CoordinatorError.INVALID_TXN_STATE
        if guarded is CoordinatorError.CONCURRENT_TRANSACTIONS and not adds:  # which older ones do not repeat
            return CoordinatorError.COORDINATOR_NOT_AVAILABLE
        return _ERRORS.get(guarded, guarded) if isinstance(guarded, CoordinatorError) else guarded


def table(groups: Groups, verifying: Verifying) -> Iterator[Api]:
    """The row."""
    handler, access = _Offsets(groups, verifying).txn_offset_commit, on_named("WRITE", OF_ID)
    yield Api(messages_of("TxnOffsetCommit", range(6)), handler, access, is_of_logs=True, never_waits=True)
