"""JoinGroup, SyncGroup, Heartbeat and LeaveGroup: the classic protocol of groups. They never wait for requests of other
clients, except for members of the same group."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any, Final

import attrs

from ...coordinators import CoordinatorError
from ...coordinators.turn import Answered
from ...groups.replies import Joined, Left, Synced
from ...groups.requests import Heartbeat, Join, Leave, Leaving, Sync
from ..calls import Api, Call
from ..protocol import Answer, Request
from ..slices import sliced
from .hosts import NO_RIGHTS, Groups, apis, ask, identity, may

_MEMBER_ID_REQUIRED_SINCE: Final = 4
_NULL_PROTOCOL_SINCE: Final = 7
_SKIPS_ASSIGNMENT_SINCE: Final = 9
_MEMBERS_SINCE: Final = 3


@attrs.frozen
class _Members:
    groups: Groups

    async def join_group(self, call: Call, request: Request) -> Answer:
        if not may(call, "READ", request.group_id):
            return _joined(call, Joined(NO_RIGHTS, request.member_id))
        protocols = [(each.name, bytes(each.metadata)) async for each in sliced(request.protocols)]
        found = await ask(self.groups, call, _join(call, request, tuple(protocols)), Joined)
        return _joined(call, found if isinstance(found, Joined) else Joined(found, request.member_id))

    async def sync_group(self, call: Call, request: Request) -> Answer:
        found = (
            NO_RIGHTS
            if not may(call, "READ", request.group_id)
            else await ask(self.groups, call, _sync(request), Synced)
        )
        synced = found if isinstance(found, Synced) else Synced(found)
        return {
            "error_code": int(synced.error),
            "protocol_type": synced.protocol_type,
            "protocol_name": synced.protocol,
            "assignment": synced.assignment,
        }

    async def heartbeat(self, call: Call, request: Request) -> Answer:
        instance_id = getattr(request, "group_instance_id", None)
        beat = Heartbeat(request.group_id, request.generation_id, request.member_id, instance_id)
        if not may(call, "READ", request.group_id):
            return {"error_code": int(NO_RIGHTS)}
        found = await ask(self.groups, call, beat, Answered)
        return {"error_code": int(found.error if isinstance(found, Answered) else found)}

    async def leave_group(self, call: Call, request: Request) -> Answer:
        if not may(call, "READ", request.group_id):
            return {"error_code": int(NO_RIGHTS), "members": []}
        found = await ask(self.groups, call, Leave(request.group_id, _leaving(call, request)), Left)
        if not isinstance(found, Left):
            return {"error_code": int(found), "members": []}
        if call.version < _MEMBERS_SINCE:
            return {"error_code": int(found.members[0][1])}
        return {"error_code": 0, "members": [_left(*each) for each in found.members]}


def table(groups: Groups) -> Iterator[Api]:
    handlers = _Members(groups)
    rows = (
        ("JoinGroup", range(10), handlers.join_group, "READ"),
        ("SyncGroup", range(6), handlers.sync_group, "READ"),
        ("Heartbeat", range(5), handlers.heartbeat, "READ"),
        ("LeaveGroup", range(6), handlers.leave_group, "READ"),
    )
    return apis(rows, never_waits=True)


def _join(call: Call, request: Request, protocols: tuple[tuple[str, bytes], ...]) -> Join:
    rebalance_ms = request.rebalance_timeout_ms if call.version > 0 else request.session_timeout_ms
    return Join(
        request.group_id,
        request.member_id,
        str(uuid.uuid4()),
        request.protocol_type,
        protocols,
        request.session_timeout_ms,
        rebalance_ms,
        getattr(request, "group_instance_id", None),
        call.client_id or "",
        f"/{call.address}",
        requires_member_id=call.version >= _MEMBER_ID_REQUIRED_SINCE,
        skips_assignment=call.version >= _SKIPS_ASSIGNMENT_SINCE,
        principal=identity(call),
    )


def _joined(call: Call, joined: Joined) -> Answer:
    is_new = call.version >= _NULL_PROTOCOL_SINCE
    return {
        "error_code": int(joined.error),
        "generation_id": joined.generation,
        "protocol_type": joined.protocol_type,
        "protocol_name": joined.protocol if is_new else joined.protocol or "",
        "leader": joined.leader,
        "skip_assignment": joined.skips_assignment,
        "member_id": joined.member_id,
        "members": [
            {"member_id": m.member_id, "group_instance_id": m.instance_id, "metadata": m.metadata}
            for m in joined.members
        ],
    }


def _sync(request: Request) -> Sync:
    return Sync(
        request.group_id,
        request.generation_id,
        request.member_id,
        {each.member_id: bytes(each.assignment) for each in request.assignments},
        getattr(request, "group_instance_id", None),
        getattr(request, "protocol_type", None),
        getattr(request, "protocol_name", None),
    )


def _leaving(call: Call, request: Request) -> tuple[Leaving, ...]:
    if call.version < _MEMBERS_SINCE:
        return (Leaving(request.member_id),)
    return tuple(Leaving(each.member_id, each.group_instance_id) for each in request.members)


def _left(leaving: Leaving, error: CoordinatorError) -> dict[str, Any]:
    return {"member_id": leaving.member_id, "group_instance_id": leaving.instance_id, "error_code": int(error)}
