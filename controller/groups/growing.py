"""By how much a request adds to the memory that groups hold, at most (`held`); and what no request may bring."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from ..coordinators.held import by_ids
from . import held
from .consumer.state import by_subscriber
from .consumer.values import Subscriber
from .group import Group
from .requests import Commit, ConsumerHeartbeat, GroupRequest, GroupSettings, Join, Sync


def growth(group: Group | None, asked: GroupRequest) -> int:
    """In bytes; 0 if nothing grows. `group` None: it would be created."""
    grows = _GROWING.get(type(asked))
    if grows is None:
        return 0
    if group is None:
        return held.GROUP + by_ids(asked.group) + grows(Group(asked.group), asked)
    return grows(group, asked)


def is_too_large(asked: GroupRequest, settings: GroupSettings) -> bool:
    """Whether the request brings more for one member than any may have."""
    if isinstance(asked, Join):
        is_many = len(asked.protocols) > settings.protocols_max
        return is_many or held.by_protocols(asked.protocols) > settings.member_bytes_max
    if isinstance(asked, ConsumerHeartbeat):
        texts = (*(asked.topics or ()), asked.member_id, asked.regex or "", asked.instance_id or "", asked.rack or "")
        return sum(map(len, texts)) > settings.member_bytes_max
    assignments = asked.assignments.values() if isinstance(asked, Sync) else ()
    return any(len(assignment) > settings.member_bytes_max for assignment in assignments)


def _by_join(group: Group, asked: Join) -> int:
    member_id = asked.member_id or group.static.get(asked.instance_id or "", "")
    member = group.members.get(member_id)
    if member is not None:
        return member.growth(protocols=asked.protocols)
    ids = by_ids(asked.client_id, asked.client_id, asked.instance_id or "")  # its id begins with one of them
    return max(held.MEMBER, ids + held.by_protocols(asked.protocols))


def _by_sync(group: Group, asked: Sync) -> int:
    assigned = ((group.members.get(member_id), given) for member_id, given in asked.assignments.items())
    return sum(member.growth(assignment=given) for member, given in assigned if member is not None)


def _by_heartbeat(group: Group, asked: ConsumerHeartbeat) -> int:
    if asked.topics is None and asked.regex is None and asked.rack is None:
        return 0
    named = (asked.topics or frozenset(), asked.regex or "", asked.instance_id, asked.rack)
    said = Subscriber(asked.client_id, asked.client_host, *named)
    brought = max(held.MEMBER, by_subscriber(asked.member_id or asked.fresh_id, said))
    consumer = group.consumer
    member = None if consumer is None else consumer.members.get(asked.member_id)
    return max(0, brought - (0 if member is None else max(held.MEMBER, by_subscriber(member.member_id, member.said))))


def _by_commit(group: Group, asked: Commit) -> int:
    grown = 0
    for tp, committed in asked.offsets.items():
        before = group.offsets.get(tp) if asked.producer is None else None
        held_bytes = 0 if before is None else held.by_offset(tp, before.committed)
        grown += max(0, held.by_offset(tp, committed) - held_bytes)
    return grown


_GROWING: Final[dict[type, Callable[[Group, Any], int]]] = {
    Join: _by_join,
    Sync: _by_sync,
    ConsumerHeartbeat: _by_heartbeat,
    Commit: _by_commit,
}
