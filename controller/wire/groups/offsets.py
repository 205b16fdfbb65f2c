"""OffsetCommit, OffsetFetch and OffsetDelete. A commit is answered when all in-sync replicas have it."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final

import attrs

from ...coordinators import CoordinatorError
from ...groups.records import Committed
from ...groups.replies import FetchedOffsets, OffsetErrors
from ...groups.requests import Commit, DeleteOffsets, FetchOffsets
from ...model.values import TopicPartition
from ..calls import Api, Call
from ..codec import fields_of
from ..mirrored import mirrored
from ..protocol import Answer, Request
from ..slices import in_parts, sliced
from .hosts import NO_RIGHTS, Groups, apis, ask, identity, may, may_topic

_GROUPS_SINCE: Final = 8
_NO_TOPIC_RIGHTS: Final = CoordinatorError.TOPIC_AUTHORIZATION_FAILED


@attrs.frozen
class _Offsets:
    groups: Groups

    async def offset_commit(self, call: Call, request: Request) -> Answer:
        if not may(call, "READ", request.group_id):
            return await mirrored(fields_of(call.messages.response), call.version, request, int(NO_RIGHTS), "")
        asked, now_ms = asked_of(request.topics), time.time_ns() // 1_000_000
        offsets = {tp: committed_of(part, now_ms) async for tp, part in sliced(asked)}
        allowed = {tp: c async for tp, c in sliced(offsets.items()) if may_topic(call, "READ", tp.topic)}
        errors = await self._commit(call, request, allowed)
        return {"topics": await topics_of((tp, error_row(tp, errors.get(tp, _NO_TOPIC_RIGHTS))) for tp in offsets)}

    async def _commit(
        self, call: Call, request: Request, offsets: Mapping[TopicPartition, Committed]
    ) -> dict[TopicPartition, CoordinatorError]:
        if not offsets:
            return {}
        instance_id = getattr(request, "group_instance_id", None)
        who = (request.generation_id_or_member_epoch, request.member_id, instance_id)
        asked = Commit(request.group_id, offsets, *who, principal=identity(call))
        found = await ask(self.groups, call, asked, OffsetErrors)
        return dict(found.errors) if isinstance(found, OffsetErrors) else dict.fromkeys(offsets, found)

    async def offset_fetch(self, call: Call, request: Request) -> Answer:
        is_stable = bool(getattr(request, "require_stable", None))
        if call.version < _GROUPS_SINCE:
            return await self._fetched(call, FetchOffsets(request.group_id, None, is_stable), request.topics)
        groups = {g.group_id: g for g in request.groups}  # each once, since each may be answered with much
        asked = ((FetchOffsets(i, None, is_stable, *_member(g)), g.topics) for i, g in groups.items())
        rows = [{"group_id": a.group, **await self._fetched(call, a, topics)} async for a, topics in sliced(asked)]
        return {"groups": rows}

    async def _fetched(self, call: Call, asked: FetchOffsets, topics: Sequence[Any] | None) -> dict[str, Any]:
        """The offsets of the partitions of `topics`; None: all that the group has."""
        if not may(call, "DESCRIBE", asked.group):
            return await _refused(topics, NO_RIGHTS)
        sees = partial(may_topic, call, "DESCRIBE")
        wanted = {tp: sees(tp.topic) async for tp in sliced(_wanted(topics or ()))}
        parts: list[tuple[TopicPartition, ...] | None] = [None]
        if topics is not None:
            shown = [tp async for tp, is_seen in sliced(wanted.items()) if is_seen]
            parts = [tuple(part) async for part in in_parts(shown)] or [()]
        rows = [(tp, _offset(tp, None, _NO_TOPIC_RIGHTS)) async for tp, seen in sliced(wanted.items()) if not seen]
        for part in parts:
            found = await ask(self.groups, call, attrs.evolve(asked, wanted=part), FetchedOffsets)
            if not isinstance(found, FetchedOffsets):
                return await _refused(topics, found)
            errors = dict.fromkeys(found.unstable, CoordinatorError.UNSTABLE_OFFSET_COMMIT)
            rows += [
                (tp, _offset(tp, c, errors.get(tp, CoordinatorError.NONE)))
                async for tp, c in sliced(found.offsets.items())
                if sees(tp.topic)
            ]
        return {"error_code": 0, "topics": await topics_of(rows)}

    async def offset_delete(self, call: Call, request: Request) -> Answer:
        if not may(call, "DELETE", request.group_id):
            return {"error_code": int(NO_RIGHTS), "topics": []}
        asked = {tp: None async for tp, _ in sliced(asked_of(request.topics))}
        allowed = tuple([tp async for tp in sliced(asked) if may_topic(call, "READ", tp.topic)])
        found = await ask(self.groups, call, DeleteOffsets(request.group_id, allowed), OffsetErrors)
        if not isinstance(found, OffsetErrors):
            return {"error_code": int(found), "topics": []}
        errors = found.errors
        rows = ((tp, error_row(tp, errors.get(tp, _NO_TOPIC_RIGHTS))) for tp in asked)
        return {"error_code": 0, "topics": await topics_of(rows)}


def table(groups: Groups) -> Iterator[Api]:
    handlers = _Offsets(groups)
    rows = (
        ("OffsetCommit", range(2, 10), handlers.offset_commit, "READ"),
        ("OffsetFetch", range(1, 10), handlers.offset_fetch, "DESCRIBE"),
        ("OffsetDelete", range(1), handlers.offset_delete, "DELETE"),
    )
    return apis(rows, never_waits=True)


def asked_of(topics: Iterable[Any]) -> Iterator[tuple[TopicPartition, Any]]:
    """Each partition that is requested, with its row."""
    return ((TopicPartition(topic.name, part.partition_index), part) for topic in topics for part in topic.partitions)


def _member(row: Any) -> tuple[str | None, int]:
    """The id and the epoch that a member of the consumer protocol sends, since version 9."""
    epoch = getattr(row, "member_epoch", None)
    return getattr(row, "member_id", None), -1 if epoch is None else epoch


def _wanted(topics: Iterable[Any]) -> Iterator[TopicPartition]:
    return (TopicPartition(topic.name, part) for topic in topics for part in topic.partition_indexes)


def committed_of(part: Any, now_ms: int) -> Committed:
    """The offset in a row of a request."""
    epoch = getattr(part, "committed_leader_epoch", None)
    return Committed(part.committed_offset, -1 if epoch is None else epoch, part.committed_metadata or "", now_ms)


async def topics_of(rows: Iterable[tuple[TopicPartition, dict[str, Any]]]) -> list[dict[str, Any]]:
    """Rows about partitions as the list of topics of an answer."""
    topics: dict[str, list[dict[str, Any]]] = {}
    async for tp, row in sliced(rows):
        topics.setdefault(tp.topic, []).append(row)
    return [{"name": name, "partitions": parts} for name, parts in topics.items()]


def error_row(tp: TopicPartition, error: CoordinatorError) -> dict[str, Any]:
    """The row of an answer."""
    return {"partition_index": tp.partition, "error_code": int(error)}


def _offset(
    tp: TopicPartition, committed: Committed | None, error: CoordinatorError = CoordinatorError.NONE
) -> dict[str, Any]:
    return {
        "partition_index": tp.partition,
        "committed_offset": -1 if committed is None else committed.offset,
        "committed_leader_epoch": -1 if committed is None else committed.leader_epoch,
        "metadata": "" if committed is None else committed.metadata,
        "error_code": int(error),
    }


async def _refused(topics: Sequence[Any] | None, error: CoordinatorError) -> dict[str, Any]:
    """Above, and in each row, since version 1 has no place above."""
    rows = ((tp, _offset(tp, None, error)) for tp in _wanted(topics or ()))
    return {"error_code": int(error), "topics": await topics_of(rows)}
