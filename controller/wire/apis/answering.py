"""What many handlers need: the outcome of a future as codes and words of the protocol."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from concurrent.futures import Future
from typing import Any, Final, TypeVar

import attrs

from controller.model.errors import ApiError

T = TypeVar("T")
K = TypeVar("K")

# Kafka's AclOperation codes, as far as each kind of resource has them.
TOPIC_OPERATIONS: Final = frozenset({3, 4, 5, 6, 7, 8, 10, 11})
CLUSTER_OPERATIONS: Final = frozenset({5, 7, 8, 9, 10, 11, 12})


@attrs.frozen
class Outcome:
    """What became of one thing that was asked for: a value, or an error's number and message."""

    value: Any = None
    error_code: int = 0
    error_message: str | None = None

    @property
    def fields(self) -> dict[str, Any]:
        """As the two fields that most answers have."""
        return {"error_code": self.error_code, "error_message": self.error_message}


async def outcome(future: Future[Any]) -> Outcome:
    """The outcome of one future; an error that the API does not know is a defect, and is raised."""
    try:
        return Outcome(await asyncio.wrap_future(future))
    except ApiError as error:
        return Outcome(None, int(error.code), error.message)


async def outcomes(futures: Mapping[K, Future[Any]]) -> dict[K, Outcome]:
    """As `outcome`, of each."""
    return {key: await outcome(future) for key, future in futures.items()}
