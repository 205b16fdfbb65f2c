"""What has the coordinators of groups, as handlers ask it, and who may ask."""

from __future__ import annotations

import asyncio
from concurrent.futures import Future
from typing import Any, Final, Protocol, TypeVar

from controller.groups.records import RecordCodec
from controller.groups.replies import Answered, GroupError, Listed, Reply
from controller.groups.requests import GroupRequest, GroupSettings
from controller.wire.calls import Call
from controller.wire.security.acls import GROUP, TOPIC

T = TypeVar("T")
NO_RIGHTS: Final = GroupError.GROUP_AUTHORIZATION_FAILED
GROUP_OPERATIONS: Final = frozenset({3, 6, 8})
"""READ, DELETE and DESCRIBE, by Kafka's numbers."""


class Groups(Protocol):
    """Every call returns at once; the future has the answer. `broker_id`: whose address the client called; None: the
    common one, where any coordinator answers."""

    def begin(self, codec: RecordCodec, settings: GroupSettings | None = None) -> None:
        """Requests are answered from now on, and records written by this codec. `settings` None: as they are."""

    def ask(self, broker_id: int | None, asked: GroupRequest) -> Future[Reply]:
        """What the coordinator of the group answers, NOT_COORDINATOR where that is elsewhere. A Join or a Sync may wait
        for other members."""

    def listed(self, broker_id: int | None) -> Future[tuple[GroupError, list[Listed]]]:
        """Every group whose coordinator is there."""


async def ask(groups: Groups, call: Call, asked: GroupRequest, kind: type[T]) -> T | GroupError:
    """The answer of this kind, or why the whole is refused."""
    reply: Any = await asyncio.wrap_future(groups.ask(call.broker_id, asked))
    return reply.error if isinstance(reply, Answered) and kind is not Answered else reply


def may(call: Call, operation: str, group: str) -> bool:
    """Whether who asks may do this to the group."""
    return call.may(operation, GROUP + group)


def may_topic(call: Call, operation: str, topic: str) -> bool:
    """Whether who asks may do this to the topic."""
    return call.may(operation, TOPIC + topic)
