"""Errors, lost answers and delays that a test orders, for a gateway that serves a cluster for tests.

In: the name of an API, an error, a count, the id of a broker, a delay. Out: a table of APIs (`Gateway(apis=...)`) whose
handlers look for an order first.

* A connection that is dropped in place of an answer: the request was served, or it had the ordered error and did
  nothing.

* A request that is answered with an ordered error changes nothing. A request that only reads (`Api.reads`) is served,
  and all errors of its answer are replaced, because its rows are not those of the request: Metadata lists brokers.
* A request whose answer has no place for the error is served as usual, and the order stays: Metadata of a client that
  names no topic, Produce with acks=0.
* The error at the top of Fetch and of Metadata is about something else (fetch sessions, bootstrapping), so it is set in
  the rows only.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from math import inf
from typing import Any, Final

import attrs
from kafka.errors import kafka_errors

from ..coordinators import CoordinatorError
from ..model.errors import ErrorCode
from ..model.logs import LogError
from .calls import Api, Call, Handler
from .codec import fields_of
from .errors import DroppedByOrder
from .mirrored import mirrored, replaced
from .protocol import Answer, Request

MESSAGE: Final = "This error was ordered by a test."
_APART: Final = frozenset({1, 3})
_ERRORS: Final[Mapping[str, int]] = {
    **{error.message: code for code, error in kafka_errors.items() if code},
    **{error.name: int(error) for errors in (LogError, CoordinatorError, ErrorCode) for error in errors if error},
}
"""Kafka's names, also those that kafka-python has differently: NOT_LEADER_OR_FOLLOWER is NOT_LEADER_FOR_PARTITION."""


@attrs.define(eq=False)
class Fault:
    """An ordered error. `code`: its number, 0 for none. `left`: how many more requests it will answer. `broker_id`: for
    requests at the address of this broker; None: at any address. `disconnect`: the client gets no answer."""

    api_key: int
    code: int
    left: int
    broker_id: int | None
    disconnect: bool


class Faults:
    """The ordered errors and delays. `apis`: those of the cluster, each of which looks here first. The methods may be
    called from any thread."""

    def __init__(self, apis: Mapping[int, Api]) -> None:
        self._keys = {api.messages.name: key for key, api in apis.items() if not api.before_login}
        self._ordered: list[Fault] = []
        self._delays_ms: dict[int | None, float] = {}
        # Answers of one broker must not be given to clients of another one.
        self.apis = {key: attrs.evolve(api, handler=self._handler(api), is_shared=False) for key, api in apis.items()}

    def fail_next(
        self,
        api: str,
        error: str | int | None = None,
        count: int = 1,
        broker_id: int | None = None,
        *,
        disconnect: bool = False,
    ) -> Fault:
        """The next `count` requests of this API (`Produce`) get this error: Kafka's name or number. Orders for the same
        requests are carried out in turn. `disconnect`: the connection is dropped in place of the answer; with an error
        the request did nothing, without one it was served. ValueError names what can be ordered."""
        if api not in self._keys:
            raise ValueError(f"no errors can be ordered for {api!r}, only for: {', '.join(sorted(self._keys))}")
        if type(count) is not int or count < 1:  # a fraction would never be used up
            raise ValueError(f"count: expected at least 1, got {count!r:.80}")
        if error is None and not disconnect:
            raise ValueError("expected an error, disconnect=True, or both")
        fault = Fault(self._keys[api], 0 if error is None else _code(error), count, broker_id, disconnect)
        self._ordered.append(fault)
        return fault

    def slow(self, broker_id: int, delay_ms: float) -> None:
        """Answers at the address of this broker are sent so many milliseconds later; 0: at once again."""
        if not 0 <= delay_ms < inf:
            raise ValueError(f"delay_ms: expected at least 0, got {delay_ms}")
        self._delays_ms[broker_id] = delay_ms

    # --- on the loop of the gateway

    def _handler(self, api: Api) -> Handler:
        async def handler(call: Call, request: Request) -> Answer | None:
            answer = await self._answer(api, call, request)
            delay_ms = self._delays_ms.get(call.broker_id, 0)
            if delay_ms:
                await asyncio.sleep(delay_ms / 1000)
            return answer

        return handler

    async def _answer(self, api: Api, call: Call, request: Request) -> Answer | None:
        fault = self._take(api, call)
        if fault is None:
            return await api.handler(call, request)
        if fault.disconnect:
            if not fault.code:
                await api.handler(call, request)
            raise DroppedByOrder(MESSAGE)
        real = await api.handler(call, request) if api.reads else None
        answer = await _failed(api, call.version, request, fault.code, real)
        if answer is None:
            fault.left += 1
            return real if api.reads else await api.handler(call, request)
        return answer

    def _take(self, api: Api, call: Call) -> Fault | None:
        key = api.messages.api_key
        for fault in self._ordered:
            if fault.left and fault.api_key == key and fault.broker_id in {None, call.broker_id}:
                fault.left -= 1
                return fault
        return None


def _code(error: str | int) -> int:
    code = _ERRORS.get(error) if isinstance(error, str) else error
    if code is None:
        raise ValueError(f"Kafka has no error {error!r}, as in: NOT_LEADER_OR_FOLLOWER, REQUEST_TIMED_OUT; or a number")
    if type(code) is not int or code == 0 or not -1 <= code < 2**15:
        raise ValueError(f"error: expected the number of an error, got {error!r}")
    return code


async def _failed(api: Api, version: int, request: Request, code: int, real: Answer | None) -> Answer | None:
    """The answer with the error; None: it has no place for it."""
    if getattr(request, "acks", None) == 0:
        return None
    fields = dict(fields_of(api.messages.response))
    if api.messages.api_key in _APART:
        del fields["error_code"]
    if real is None:
        made = await mirrored(fields, version, request, code, MESSAGE)
        return made if _is_in(made) else None
    made = replaced(fields, version, real, code, MESSAGE)
    return made if made != real else None


def _is_in(answer: Any) -> bool:
    if isinstance(answer, dict):
        return "error_code" in answer or any(_is_in(value) for value in answer.values())
    return isinstance(answer, list) and any(_is_in(row) for row in answer)
