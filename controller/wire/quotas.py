"""The quotas of clients at work (KIP-13, KIP-124): how much a client uses, and how long it has to wait.

In: a table of APIs. Out: the same table, whose handlers put `throttle_time_ms` into their answers, and mute the
connection for that time (KIP-219).

* Produce counts with the bytes of its request, Fetch with those of its records. Fetch reads no more than the window has
  room for, but at least one batch: otherwise a batch that is larger than the window could never be read.
* A request counts with the time that its handler works in the gateway's thread, not with the time that it waits.
* Not limited are requests of brokers, those before the login, and the time of Produce with acks=0.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Generator, Mapping
from functools import partial
from types import coroutine
from typing import Any, Final

import attrs

from ..quota.clients import CONSUMER, PRODUCER, REQUEST, ClientQuotas
from .calls import CLUSTER_ACTION, Api, Call
from .codec import fields_of
from .protocol import Answer, Request

REQUEST_MS_MAX: Final = 1000  # as in Kafka: one sample
_THROTTLE: Final = "throttle_time_ms"


def with_quotas(
    apis: Mapping[int, Api],
    configs: Mapping[tuple[str, str], Mapping[str, str]],
    clock_ms: Callable[[], int] = lambda: time.monotonic_ns() // 1_000_000,
    work_ns: Callable[[], int] = time.thread_time_ns,
) -> dict[int, Api]:
    """`configs`: of users and client ids, as in `ClientQuotas`. `work_ns`: how long this thread has worked."""
    quotas = ClientQuotas(configs, clock_ms)

    def limited(api: Api) -> Api:
        is_exempt = api.before_login or api.access.operation == CLUSTER_ACTION
        return api if is_exempt else attrs.evolve(api, handler=partial(_limited, api, quotas, work_ns))

    return {key: limited(api) for key, api in apis.items()}


async def _limited(
    api: Api, quotas: ClientQuotas, work_ns: Callable[[], int], call: Call, request: Request
) -> Answer | None:
    of = quotas.of(call.broker_id, call.principal.partition(":")[2], call.client_id or "")
    if not of:
        return await api.handler(call, request)
    is_read = api.messages.name == "Fetch" and request.replica_id < 0
    if is_read and CONSUMER in of:
        request.max_bytes = max(1, min(request.max_bytes, of[CONSUMER].room()))
    answer, spent_ns = await _timed(api.handler(call, request), work_ns)
    throttle_ms = 0
    if PRODUCER in of and api.messages.name == "Produce":
        throttle_ms = of[PRODUCER].record(call.request_bytes)
    if answer is not None:
        if CONSUMER in of and is_read:
            parts = (part for topic in answer["responses"] for part in topic["partitions"])
            throttle_ms = of[CONSUMER].record(sum(len(part["records"]) for part in parts))
        if REQUEST in of:
            throttle_ms = max(throttle_ms, min(of[REQUEST].record(spent_ns), REQUEST_MS_MAX))
    call.mute(throttle_ms)
    if not throttle_ms or answer is None or _THROTTLE not in fields_of(api.messages.response):
        return answer
    return {**answer, _THROTTLE: max(throttle_ms, answer.get(_THROTTLE, 0))}


@coroutine
def _timed(
    handling: Awaitable[Answer | None], work_ns: Callable[[], int]
) -> Generator[Any, Any, tuple[Answer | None, int]]:
    """The answer of a handler, and the time of its steps; between two of them it waits."""
    steps: Any = handling.__await__()
    step, value, spent_ns = steps.send, None, 0
    while True:
        begun_ns = work_ns()
        try:
            waited_for = step(value)
        except StopIteration as done:
            return done.value, spent_ns + work_ns() - begun_ns
        spent_ns += work_ns() - begun_ns
        try:
            step, value = steps.send, (yield waited_for)
        except BaseException as error:  # noqa: BLE001 - such as a cancellation: the handler's to treat
            step, value = steps.throw, error
