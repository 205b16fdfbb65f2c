"""The requests that clients sent, for tests that count them or look at them.

In: a table of APIs. Out: the same table (`Gateway(apis=...)`), whose handlers note each request before they serve it.
So requests count that could be read and whose sender had the right to them, in the order in which they were begun. Of
each API the newest `KEPT` are kept.
"""

from __future__ import annotations

import threading
from collections import Counter, defaultdict, deque
from collections.abc import Mapping
from typing import Any, Final, Self

import attrs

from .calls import Api, Call, Handler
from .protocol import Answer, Request

KEPT: Final = 20
_WITH_PASSWORDS: Final = "SaslAuthenticate"


@attrs.frozen
class Sent:
    """A request. `client`: the client id that it named, if any. `broker`: the broker whose address was called, None for
    the common one. `principal`: who sent it (`User:alice`). `body`: its fields by Kafka's names,
    in snake case; empty for SaslAuthenticate, which has passwords."""

    api: str
    version: int
    client: str | None
    broker: int | None
    principal: str
    body: Mapping[str, Any] = attrs.field(repr=False)


@attrs.frozen
class Requests:
    """Requests of one API. `last`: the newest of them, at most `KEPT`, the latest at the end."""

    count: int
    by_client: Mapping[str | None, int]
    by_broker: Mapping[int | None, int]
    last: tuple[Sent, ...]

    @classmethod
    def of(cls, counts: Mapping[tuple[str | None, int | None], int], last: tuple[Sent, ...]) -> Self:
        """From their counts by client and broker."""
        by_client: Counter[str | None] = Counter()
        by_broker: Counter[int | None] = Counter()
        for (client, broker), count in counts.items():
            by_client[client] += count
            by_broker[broker] += count
        return cls(sum(counts.values()), dict(by_client), dict(by_broker), last)


class RequestLog:
    """`apis`: those of `Faults`, of which none shares the answer of another request, so that each reaches its handler.
    `of` may be called from any thread."""

    def __init__(self, apis: Mapping[int, Api]) -> None:
        self._names = {api.messages.name for api in apis.values()}
        self._lock = threading.Lock()
        self._counts: defaultdict[str, Counter[tuple[str | None, int | None]]] = defaultdict(Counter)
        self._last: defaultdict[str, deque[tuple[Call, Request]]] = defaultdict(lambda: deque(maxlen=KEPT))
        self.apis = {key: attrs.evolve(api, handler=self._handler(api)) for key, api in apis.items()}

    def of(self, api: str) -> Requests:
        """The requests of an API (`Produce`) since the start. ValueError for an API that is not served."""
        if api not in self._names:
            raise ValueError(f"no API {api!r} is served, only: {', '.join(sorted(self._names))}")
        with self._lock:
            counts, last = dict(self._counts[api]), tuple(self._last[api])
        return Requests.of(counts, tuple([_sent(call, request) for call, request in last]))

    def _handler(self, api: Api) -> Handler:
        name = api.messages.name

        async def handler(call: Call, request: Request) -> Answer | None:
            with self._lock:
                self._counts[name][call.client_id, call.broker_id] += 1
                self._last[name].append((call, request))
            return await api.handler(call, request)

        return handler


def _sent(call: Call, request: Any) -> Sent:
    name = call.messages.name
    body = {} if name == _WITH_PASSWORDS else request.to_dict()
    return Sent(name, call.version, call.client_id, call.broker_id, call.principal, body)
