"""ConsumerGroupHeartbeat and ConsumerGroupDescribe (KIP-848): groups in which the coordinator assigns."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from typing import Any, Final

import attrs

from ...coordinators import CoordinatorError
from ...groups.consumer.values import Partitions
from ...groups.replies import ConsumerHeartbeated, DescribedConsumer, DescribedConsumers, refused
from ...groups.requests import ConsumerHeartbeat, DescribeConsumers
from ..calls import Api, Call
from ..protocol import Answer, Request
from ..security.acls import GROUP
from ..slices import sliced
from .consumer_records import partitions_of, rows_of
from .hosts import GROUP_OPERATIONS, NO_RIGHTS, Groups, apis, ask, identity, may, may_topic

_OWN_ID_SINCE: Final = 1
_UNASKED: Final = -(2**31)  # as authorized operations
_NO_TOPIC_RIGHTS: Final = CoordinatorError.TOPIC_AUTHORIZATION_FAILED
_NO_TOPICS: Final = "the client may not see all topics of the group"


@attrs.frozen
class _Consumers:
    groups: Groups

    async def heartbeat(self, call: Call, request: Request) -> Answer:
        asked = _heartbeat(call, request)
        found: Any = NO_RIGHTS
        if may(call, "READ", asked.group):
            seen = [may_topic(call, "DESCRIBE", topic) async for topic in sliced(asked.topics or ())]
            found = await ask(self.groups, call, asked, ConsumerHeartbeated) if all(seen) else _NO_TOPIC_RIGHTS
        beat = found if isinstance(found, ConsumerHeartbeated) else refused(asked, found)
        assert isinstance(beat, ConsumerHeartbeated)
        return {
            "error_code": int(beat.error),
            "error_message": beat.message,
            "member_id": beat.member_id,
            "member_epoch": beat.epoch,
            "heartbeat_interval_ms": beat.interval_ms,
            "assignment": None if beat.assigned is None else {"topic_partitions": rows_of(beat.assigned)},
        }

    async def describe(self, call: Call, request: Request) -> Answer:
        rights = bool(request.include_authorized_operations)
        groups = dict.fromkeys(request.group_ids)
        return {"groups": [await self._describe(call, group, rights=rights) async for group in sliced(groups)]}

    async def _describe(self, call: Call, group: str, *, rights: bool) -> dict[str, Any]:
        found: Any = NO_RIGHTS
        if may(call, "DESCRIBE", group):
            found = await ask(self.groups, call, DescribeConsumers(group), DescribedConsumers)
        if not isinstance(found, DescribedConsumers):
            message = f"group {group:.100} is none of the consumer protocol"
            unknown = message if found is CoordinatorError.GROUP_ID_NOT_FOUND else None
            return _refused(group, found, unknown)
        seen = {name: may_topic(call, "DESCRIBE", name) for name in _topics(found)}
        if not all(seen.values()):
            return _refused(group, _NO_TOPIC_RIGHTS, _NO_TOPICS)
        operations = call.rights(GROUP_OPERATIONS, GROUP + group)
        return {
            "group_id": group,
            "error_code": 0,
            "group_state": found.state.value,
            "group_epoch": found.epoch,
            "assignment_epoch": found.target_epoch,
            "assignor_name": found.assignor,
            "members": [_member(member, found.names) async for member in sliced(found.members)],
            "authorized_operations": sum(1 << code for code in operations) if rights else _UNASKED,
        }


def table(groups: Groups) -> Iterator[Api]:
    handlers = _Consumers(groups)
    rows = (
        ("ConsumerGroupHeartbeat", range(2), handlers.heartbeat, "READ"),
        ("ConsumerGroupDescribe", range(2), handlers.describe, "DESCRIBE"),
    )
    return apis(rows, never_waits=True)


def _heartbeat(call: Call, request: Request) -> ConsumerHeartbeat:
    topics, owned = request.subscribed_topic_names, request.topic_partitions
    return ConsumerHeartbeat(
        request.group_id,
        request.member_id,
        request.member_epoch,
        "" if call.version >= _OWN_ID_SINCE else str(uuid.uuid4()),
        request.instance_id,
        request.rack_id,
        request.rebalance_timeout_ms,
        None if topics is None else frozenset(topics),
        getattr(request, "subscribed_topic_regex", None),
        request.server_assignor,
        None if owned is None else partitions_of(owned),
        call.client_id or "",
        f"/{call.address}",
        identity(call),
        lambda topic: may_topic(call, "DESCRIBE", topic),
    )


def _refused(group: str, error: CoordinatorError, message: str | None) -> dict[str, Any]:
    empty = {"group_state": "", "group_epoch": 0, "assignment_epoch": 0, "assignor_name": "", "members": []}
    return {"group_id": group, "error_code": int(error), "error_message": message, **empty}


def _topics(found: DescribedConsumers) -> Iterator[str]:
    for member in found.members:
        yield from member.said.topics
        yield from (found.names[i] for i, _ in member.current.assigned | member.target if i in found.names)


def _member(member: DescribedConsumer, names: Mapping[str, str]) -> dict[str, Any]:
    said = member.said
    return {
        "member_id": member.member_id,
        "instance_id": said.instance_id,
        "rack_id": said.rack,
        "member_epoch": member.current.epoch,
        "client_id": said.client_id,
        "client_host": said.client_host,
        "subscribed_topic_names": sorted(said.topics),
        "subscribed_topic_regex": said.regex,
        "assignment": _named(member.current.assigned, names),
        "target_assignment": _named(member.target, names),
        "member_type": int(said.classic is None),
    }


def _named(partitions: Partitions, names: Mapping[str, str]) -> dict[str, Any]:
    known = frozenset(tp for tp in partitions if tp[0] in names)
    named = zip(dict.fromkeys(sorted(topic for topic, _ in known)), rows_of(known), strict=True)
    return {"topic_partitions": [{**row, "topic_name": names[topic]} for topic, row in named]}
