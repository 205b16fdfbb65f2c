"""The interface of handlers to the coordinators of groups, and the rights that requests need."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import Future
from typing import Final, Protocol, TypeAlias, TypeVar

from ...coordinators import CoordinatorError
from ...groups.records import GroupCodec
from ...groups.replies import Listed, Reply
from ...groups.requests import GroupRequest, GroupSettings
from ...model.values import TopicPartition
from ..calls import Api, Call, Handler, on_named
from ..coordinators import answer_of
from ..messages import messages_of
from ..security import ANONYMOUS
from ..security.acls import GROUP, TOPIC

T = TypeVar("T")
NO_RIGHTS: Final = CoordinatorError.GROUP_AUTHORIZATION_FAILED
GROUP_OPERATIONS: Final = frozenset({3, 6, 8})
"""READ, DELETE and DESCRIBE, by Kafka's numbers."""


class Groups(Protocol):
    """Every call returns at once; the future has the answer. `broker_id`: the broker whose address the client called,
    None for the common address, where any coordinator answers."""

    def begin(self, codec: GroupCodec, settings: GroupSettings | None = None) -> None:
        """Answer requests from now on. `codec`: for the records. `settings` None: unchanged."""

    def ask(self, broker_id: int | None, asked: GroupRequest) -> Future[Reply]:
        """The answer of the coordinator of the group, NOT_COORDINATOR if it is elsewhere. A Join or a Sync may wait for
        other members."""

    def listed(self, broker_id: int | None) -> Future[tuple[CoordinatorError, list[Listed]]]:
        """All groups whose coordinators are on this broker."""

    def place_of(self, name: str) -> Future[TopicPartition | None]:
        """The partition of `__consumer_offsets` that holds this group; None while there is no such topic."""


Row: TypeAlias = tuple[str, range, Handler, str]
"""Name of the API, versions, handler, and the right on each group that the request names."""


def apis(rows: Iterable[Row], *, never_waits: bool = False) -> Iterator[Api]:
    for name, versions, handler, right in rows:
        yield Api(messages_of(name, versions), handler, on_named(right), is_of_logs=True, never_waits=never_waits)


async def ask(groups: Groups, call: Call, asked: GroupRequest, kind: type[T]) -> T | CoordinatorError:
    """The answer of this kind, or the error of the whole request."""
    return await answer_of(groups.ask(call.broker_id, asked), kind)


def identity(call: Call) -> str:
    """The principal that groups which the client creates count for. All anonymous clients are one principal, so their
    groups count for none."""
    return "" if call.principal == ANONYMOUS else call.principal


def may(call: Call, operation: str, group: str) -> bool:
    return call.may(operation, GROUP + group)


def may_topic(call: Call, operation: str, topic: str) -> bool:
    return call.may(operation, TOPIC + topic)
