"""Shared by many handlers: the outcome of a future as codes and messages of the protocol."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterable
from concurrent.futures import Future
from typing import Any, Final, TypeVar

import attrs

from ...admin import Results
from ...model.errors import ApiError, ErrorCode
from ...runtime.replies import Reply
from ..calls import Call
from ..protocol import Request
from ..slices import sliced

T = TypeVar("T")
K = TypeVar("K")

# Kafka's AclOperation codes, as far as each kind of resource has them.
TOPIC_OPERATIONS: Final = frozenset({3, 4, 5, 6, 7, 8, 10, 11})
CLUSTER_OPERATIONS: Final = frozenset({5, 7, 8, 9, 10, 11, 12})

TIMEOUT_MS_MAX: Final = 120_000
"""A waiting request holds a turn of its API. Kafka's clients send 60 s by default."""
_FEW: Final = 500  # partitions that take a few milliseconds
_OF_ALL: Final = frozenset({ErrorCode.NOT_CONTROLLER, ErrorCode.CLUSTER_AUTHORIZATION_FAILED})


@attrs.frozen
class Outcome:
    """The result of one item of a request: a value, or an error's number and message."""

    value: Any = None
    error_code: int = 0
    error_message: str | None = None

    @property
    def fields(self) -> dict[str, Any]:
        """As the two fields that most answers have."""
        return {"error_code": self.error_code, "error_message": self.error_message}


async def outcome(future: Future[Any] | Awaitable[Any]) -> Outcome:
    """The outcome of one future; an error without an API code is a defect, and is raised."""
    try:
        return Outcome(await (asyncio.wrap_future(future) if isinstance(future, Future) else future))
    except ApiError as error:
        return failed(error)


async def outcomes(results: Results[K, Any]) -> dict[K, Outcome]:
    """As `outcome`, for each item; the loop is woken once, when all are complete."""
    with contextlib.suppress(ApiError):
        await asyncio.wrap_future(results.all())
    return {key: _there(reply) async for key, reply in sliced(results.replies.items())}


def _there(reply: Reply[Any]) -> Outcome:
    if reply.error is None:
        return Outcome(reply.outcome)
    if isinstance(reply.error, ApiError):
        return failed(reply.error)
    raise reply.error


def failed(error: ApiError) -> Outcome:
    return Outcome(None, int(error.code), error.message)


def of_all(each: Iterable[Outcome]) -> Outcome:
    """The outcome of a whole request, beside those of its parts: an error that is not about any part (this controller
    does not lead, the caller lacks the right), else success."""
    return next((one for one in each if one.error_code in _OF_ALL), Outcome())


async def beside(call: Call, work: Callable[[], T], size: int) -> T:
    """The result of `work`, in a thread where it is about many items, because the loop has other clients."""
    if size <= _FEW:
        return work()
    found: T = await call.aside(work)
    return found


def timeout_s(request: Request) -> float:
    """How long the caller waits, in seconds for the admin API: at least 0, and at most the limit above, so that it does
    not keep others waiting for longer."""
    return min(max(0, int(request.timeout_ms)), TIMEOUT_MS_MAX) / 1000


def by_topic(rows: Iterable[tuple[str, T]]) -> dict[str, list[T]]:
    """Pairs of a topic and a row about one of its partitions, by topic."""
    topics: dict[str, list[T]] = {}
    for topic, row in rows:
        topics.setdefault(topic, []).append(row)
    return topics


async def by_topic_in_slices(rows: Iterable[tuple[str, T]]) -> dict[str, list[T]]:
    """As `by_topic`, for any number of rows."""
    topics: dict[str, list[T]] = {}
    async for topic, row in sliced(rows):
        topics.setdefault(topic, []).append(row)
    return topics
