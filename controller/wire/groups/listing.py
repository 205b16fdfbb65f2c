"""ListGroups, DescribeGroups and DeleteGroups, for tools."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import attrs

from ...coordinators import CoordinatorError
from ...coordinators.turn import Answered
from ...groups.consumer.values import GroupState
from ...groups.replies import Described, Listed
from ...groups.requests import DeleteGroup, Describe
from ..calls import Api, Call
from ..protocol import Answer, Request
from ..security.acls import CLUSTER, GROUP
from ..slices import sliced
from .hosts import GROUP_OPERATIONS, NO_RIGHTS, Groups, apis, ask, may


@attrs.frozen
class _Listing:
    groups: Groups

    async def list_groups(self, call: Call, request: Request) -> Answer:
        error, listed = await asyncio.wrap_future(self.groups.listed(call.broker_id))
        sees_all, states, types = call.may("DESCRIBE", CLUSTER), _filter(request, "states"), _filter(request, "types")
        shown = [
            _listed(row)
            async for row in sliced(listed)
            if (not states or row.state.value.lower() in states)
            and (not types or _type(row) in types)
            and (sees_all or may(call, "DESCRIBE", row.group))
        ]
        return {"error_code": int(error), "groups": shown}

    async def describe_groups(self, call: Call, request: Request) -> Answer:
        rights = getattr(request, "include_authorized_operations", False)
        groups = dict.fromkeys(request.groups)
        return {"groups": [await self._describe(call, group, rights=rights) async for group in sliced(groups)]}

    async def _describe(self, call: Call, group: str, *, rights: bool) -> dict[str, Any]:
        found = await ask(self.groups, call, Describe(group), Described) if may(call, "DESCRIBE", group) else NO_RIGHTS
        if not isinstance(found, Described):
            return {"group_id": group, "error_code": int(found), "group_state": "", "members": []}
        operations = call.rights(GROUP_OPERATIONS, GROUP + group) if rights else None
        return {"group_id": group, "error_code": 0, "authorized_operations": operations, **_described(found)}

    async def delete_groups(self, call: Call, request: Request) -> Answer:
        groups = dict.fromkeys(request.groups_names)
        rows = [{"group_id": g, "error_code": int(await self._delete(call, g))} async for g in sliced(groups)]
        return {"results": rows}

    async def _delete(self, call: Call, group: str) -> CoordinatorError:
        if not may(call, "DELETE", group):
            return NO_RIGHTS
        found = await ask(self.groups, call, DeleteGroup(group), Answered)
        return found.error if isinstance(found, Answered) else found


def table(groups: Groups) -> Iterator[Api]:
    handlers = _Listing(groups)
    rows = (
        ("ListGroups", range(6), handlers.list_groups, "DESCRIBE"),
        ("DescribeGroups", range(6), handlers.describe_groups, "DESCRIBE"),
        ("DeleteGroups", range(3), handlers.delete_groups, "DELETE"),
    )
    return apis(rows)


def _filter(request: Request, name: str) -> set[str]:
    """The values of a filter, which old versions do not have; empty: everything is listed."""
    return {value.lower() for value in getattr(request, f"{name}_filter", None) or ()}


def _type(row: Listed) -> str:
    return "consumer" if isinstance(row.state, GroupState) else "classic"


def _listed(row: Listed) -> dict[str, Any]:
    return {
        "group_id": row.group,
        "protocol_type": row.protocol_type,
        "group_state": row.state.value,
        "group_type": _type(row),
    }


def _described(found: Described) -> dict[str, Any]:
    return {
        "group_state": found.state.value,
        "protocol_type": found.protocol_type,
        "protocol_data": found.protocol,
        "members": [
            {
                "member_id": m.member_id,
                "group_instance_id": m.instance_id,
                "client_id": m.client_id,
                "client_host": m.client_host,
                "member_metadata": m.metadata,
                "member_assignment": m.assignment,
            }
            for m in found.members
        ],
    }
