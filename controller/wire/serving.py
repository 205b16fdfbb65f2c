"""A frame to its answer: which API, how much, what it says, who answers it.

What takes long is done beside the loop, one at a time: reading a large request, writing a large answer. The loop has
its turn in between, so nobody else waits for them.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from typing import Final, TypeVar

from controller.host import Controller
from controller.wire.apis.versions import unsupported
from controller.wire.budget import Budget
from controller.wire.calls import Addresses, Api, Call
from controller.wire.errors import UnknownApi
from controller.wire.limits import Limits
from controller.wire.protocol import (
    API_VERSIONS,
    BRIEF,
    Header,
    Request,
    elements,
    is_long,
    read_header,
    read_request,
    write_answer,
)

T = TypeVar("T")
_FEW: Final = 1000  # elements that need no share of the budget


class Service:
    """Serves frames of all connections, on one loop."""

    def __init__(
        self,
        controller: Controller,
        *,
        apis: Mapping[int, Api],
        addresses: Addresses,
        cluster_id: str | None,
        limits: Limits,
        counts: Counter[str],
    ) -> None:
        self._controller = controller
        self._apis = apis
        self._addresses = addresses
        self._cluster_id = cluster_id
        self._limits = limits
        self._counts = counts
        self._in_flight = asyncio.Semaphore(limits.requests_in_flight)
        self._elements = Budget(limits.elements)
        self._beside = asyncio.Semaphore(1)

    async def serve(self, broker_id: int | None, frame: bytes) -> bytes | None:
        """The answer, with its size. Refused for what ends the connection."""
        async with self._in_flight:
            header = read_header(frame)
            api = self._apis.get(header.api_key)
            if api is None:
                raise UnknownApi(f"API {header.api_key} is not offered")
            if header.version not in api.messages.versions:
                if header.api_key == API_VERSIONS:
                    return write_answer(api.messages, 0, header.correlation_id, unsupported(self._apis))
                raise UnknownApi(f"{api.messages.name} has no version {header.version}")
            return await self._answer(api, header, broker_id, frame)

    async def _answer(self, api: Api, header: Header, broker_id: int | None, frame: bytes) -> bytes:
        is_large, most = len(frame) > BRIEF, self._limits.elements
        count = await self._done(lambda: elements(api.messages, header, frame, most), is_large=is_large)
        async with AsyncExitStack() as held:
            if count > _FEW:
                await held.enter_async_context(self._elements.share(count))
            request: Request = await self._done(lambda: read_request(api.messages, header, frame), is_large=is_large)
            self._counts["requests"] += 1
            self._counts[api.messages.name] += 1
            answer = await api.handler(self._call(api, header, broker_id), request)
        version, correlation_id = header.version, header.correlation_id
        return await self._done(
            lambda: write_answer(api.messages, version, correlation_id, answer), is_large=is_long(answer)
        )

    async def _done(self, work: Callable[[], T], *, is_large: bool) -> T:
        if not is_large:
            return work()
        async with self._beside:
            return await asyncio.to_thread(work)

    def _call(self, api: Api, header: Header, broker_id: int | None) -> Call:
        return Call(
            controller=self._controller,
            admin=self._controller.admin_for(None),
            addresses=self._addresses,
            cluster_id=self._cluster_id,
            messages=api.messages,
            version=header.version,
            client_id=header.client_id,
            principal=None,
            broker_id=broker_id,
        )
