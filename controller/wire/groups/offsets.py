"""OffsetCommit, OffsetFetch and OffsetDelete. A commit is answered when all in-sync replicas have it."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any, Final

import attrs

from ...groups.records import Committed
from ...groups.replies import FetchedOffsets, GroupError, OffsetErrors
from ...groups.requests import Commit, DeleteOffsets, FetchOffsets
from ...model.values import TopicPartition
from ..apis.answering import by_topic
from ..calls import Api, Call
from ..protocol import Answer, Request
from .hosts import NO_RIGHTS, Groups, apis, ask, identity, may, may_topic

_GROUPS_SINCE: Final = 8
_NO_TOPIC_RIGHTS: Final = GroupError.TOPIC_AUTHORIZATION_FAILED


@attrs.frozen
class _Offsets:
    groups: Groups

    async def offset_commit(self, call: Call, request: Request) -> Answer:
        offsets = _offsets(request)
        errors: Mapping[TopicPartition, GroupError]
        if not may(call, "READ", request.group_id):
            errors = dict.fromkeys(offsets, NO_RIGHTS)
        else:
            refused = {tp: _NO_TOPIC_RIGHTS for tp in offsets if not may_topic(call, "READ", tp.topic)}
            errors = refused | await self._commit(
                call, request, {tp: c for tp, c in offsets.items() if tp not in refused}
            )
        rows = by_topic((tp.topic, _error(tp, errors[tp])) for tp in offsets)
        return {"topics": [{"name": name, "partitions": parts} for name, parts in rows.items()]}

    async def _commit(
        self, call: Call, request: Request, offsets: Mapping[TopicPartition, Committed]
    ) -> dict[TopicPartition, GroupError]:
        if not offsets:
            return {}
        instance_id = getattr(request, "group_instance_id", None)
        who = (request.generation_id_or_member_epoch, request.member_id, instance_id)
        asked = Commit(request.group_id, offsets, *who, principal=identity(call))
        found = await ask(self.groups, call, asked, OffsetErrors)
        return dict(found.errors) if isinstance(found, OffsetErrors) else dict.fromkeys(offsets, found)

    async def offset_fetch(self, call: Call, request: Request) -> Answer:
        if call.version < _GROUPS_SINCE:
            return await self._fetched(call, request.group_id, _wanted(request))
        groups = {g.group_id: _wanted(g) for g in request.groups}  # each once, since each may be answered with much
        return {"groups": [{"group_id": g, **await self._fetched(call, g, wanted)} for g, wanted in groups.items()]}

    async def _fetched(self, call: Call, group: str, wanted: tuple[TopicPartition, ...] | None) -> dict[str, Any]:
        if not may(call, "DESCRIBE", group):
            return _refused(wanted, NO_RIGHTS)
        hidden = [tp for tp in wanted or () if not may_topic(call, "DESCRIBE", tp.topic)]
        shown = None if wanted is None else tuple(tp for tp in wanted if tp not in set(hidden))
        found = await ask(self.groups, call, FetchOffsets(group, shown), FetchedOffsets)
        if not isinstance(found, FetchedOffsets):
            return _refused(wanted, found)
        offsets = {
            tp: c for tp, c in found.offsets.items() if wanted is not None or may_topic(call, "DESCRIBE", tp.topic)
        }
        rows = [(tp.topic, _offset(tp, committed)) for tp, committed in offsets.items()]
        rows += [(tp.topic, _offset(tp, None, _NO_TOPIC_RIGHTS)) for tp in hidden]
        return {"error_code": 0, "topics": [{"name": n, "partitions": p} for n, p in by_topic(rows).items()]}

    async def offset_delete(self, call: Call, request: Request) -> Answer:
        asked = [TopicPartition(t.name, p.partition_index) for t in request.topics for p in t.partitions]
        if not may(call, "DELETE", request.group_id):
            return {"error_code": int(NO_RIGHTS), "topics": []}
        errors = {tp: _NO_TOPIC_RIGHTS for tp in asked if not may_topic(call, "READ", tp.topic)}
        allowed = tuple(tp for tp in asked if tp not in errors)
        found = await ask(self.groups, call, DeleteOffsets(request.group_id, allowed), OffsetErrors)
        if not isinstance(found, OffsetErrors):
            return {"error_code": int(found), "topics": []}
        errors |= found.errors
        rows = by_topic((tp.topic, _error(tp, errors[tp])) for tp in dict.fromkeys(asked))
        return {"error_code": 0, "topics": [{"name": name, "partitions": parts} for name, parts in rows.items()]}


def table(groups: Groups) -> Iterator[Api]:
    handlers = _Offsets(groups)
    rows = (
        ("OffsetCommit", range(2, 10), handlers.offset_commit, "READ"),
        ("OffsetFetch", range(1, 10), handlers.offset_fetch, "DESCRIBE"),
        ("OffsetDelete", range(1), handlers.offset_delete, "DELETE"),
    )
    return apis(rows, never_waits=True)


def _offsets(request: Request) -> dict[TopicPartition, Committed]:
    now_ms = time.time_ns() // 1_000_000
    return {
        TopicPartition(topic.name, part.partition_index): Committed(
            part.committed_offset,
            -1 if getattr(part, "committed_leader_epoch", None) is None else part.committed_leader_epoch,
            part.committed_metadata or "",
            now_ms,
        )
        for topic in request.topics
        for part in topic.partitions
    }


def _wanted(asked: Any) -> tuple[TopicPartition, ...] | None:
    if asked.topics is None:
        return None
    return tuple(TopicPartition(topic.name, part) for topic in asked.topics for part in topic.partition_indexes)


def _error(tp: TopicPartition, error: GroupError) -> dict[str, Any]:
    return {"partition_index": tp.partition, "error_code": int(error)}


def _offset(tp: TopicPartition, committed: Committed | None, error: GroupError = GroupError.NONE) -> dict[str, Any]:
    return {
        "partition_index": tp.partition,
        "committed_offset": -1 if committed is None else committed.offset,
        "committed_leader_epoch": -1 if committed is None else committed.leader_epoch,
        "metadata": "" if committed is None else committed.metadata,
        "error_code": int(error),
    }


def _refused(wanted: tuple[TopicPartition, ...] | None, error: GroupError) -> dict[str, Any]:
    """Above, and in each row, since version 1 has no place above."""
    rows = by_topic((tp.topic, _offset(tp, None, error)) for tp in wanted or ())
    return {"error_code": int(error), "topics": [{"name": name, "partitions": parts} for name, parts in rows.items()]}
