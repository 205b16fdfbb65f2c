"""The arguments of a handler beside the request, and the rows of the table of APIs."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import partial
from typing import Any, Final, Protocol, TypeVar

import attrs

from ..admin import Admin
from ..host import Controller
from ..model.values import Endpoint
from .protocol import Answer, Messages, Request
from .security.acls import OPERATIONS, Authorizer
from .security.sasl import Login

T = TypeVar("T")


@attrs.frozen
class Address:
    host: str
    port: int


class Addresses(Protocol):
    async def of(
        self, broker_ids: tuple[int, ...], endpoints: Mapping[int, tuple[Endpoint, ...]] | None = None
    ) -> dict[int, Address]:
        """An address for each of all registered ids; opened where there was none. `endpoints`: the listeners that the
        brokers registered."""

    @property
    def controller(self) -> Address | None:
        """Where clients reach the controller as a node of its own; None: every broker's address leads to it."""


@attrs.frozen
class Call:
    """One request. `broker_id`: the broker whose address the client called, None for the common address. `software`:
    the client's library, empty where it was not named. `principal`: the client's identity; `authorizer` decides its
    rights; `admin` acts for it. `login`: its login, None where none is required. `make_room`: waits until there is room
    for a large answer of so many bytes, before that is built. `aside`: the result of work that takes long, from a
    thread. `is_gateway`: the client is another gateway that logged in as one. `address`: where the client calls from.
    `client`: who takes turns for long work, see `Session.holder`. `request_bytes`: of the whole frame. `mute`: no
    request of the connection is read for so many milliseconds after the answer was sent (KIP-219)."""

    controller: Controller
    admin: Admin
    addresses: Addresses
    cluster_id: str | None
    messages: Messages
    version: int
    client_id: str | None
    principal: str
    broker_id: int | None
    software: str
    login: Login | None
    authorizer: Authorizer
    make_room: Callable[[int], Awaitable[None]]
    aside: Callable[[Callable[[], Any]], Awaitable[Any]]
    is_gateway: bool = False
    address: str = ""
    client: str = ""
    request_bytes: int = 0
    mute: Callable[[int], None] = lambda _: None
    _rights: dict[tuple[str, str], bool] = attrs.field(factory=dict, init=False, eq=False, repr=False)

    def may(self, operation: str, resource: str) -> bool:
        """Whether the client has the right to this operation on this resource (`CLUSTER`, `TOPIC:orders`). The
        authorizer decides once for each of them: a request may have the same name many times."""
        asked = (operation, resource)
        found = self._rights.get(asked)
        if found is None:
            found = self._rights[asked] = self.authorizer(self.principal, operation, resource)
        return found

    async def query(self, ask: Callable[..., T], *arguments: Any) -> T:
        """What `ask` returns on the controller's loop, of these arguments and the view. Raises ApiError."""
        return await asyncio.wrap_future(self.controller.query(partial(ask, *arguments)))

    def rights(self, operations: Iterable[int], resource: str) -> set[int]:
        """The operations, by Kafka's numbers, that the client may do on the resource."""
        return {code for name, code in OPERATIONS.items() if code in operations and self.may(name, resource)}


Handler = Callable[[Call, Request], Awaitable[Answer | None]]
"""Returns None if the client requested no answer (Produce with acks=0)."""


CLUSTER_ACTION: Final = "CLUSTER_ACTION"


@attrs.frozen
class Access:
    """The right that a client needs: `operation` on the cluster, or (`by_row`) on the resource of each row. `asked`:
    the list of the request with the names, by version under one of two names; `answered`: the list of the answer with
    them. `by_handler`:
    what the handler checks the right on. `by_broker`: on the
    broker id that the request names, not on the cluster. `or_on_cluster`: an operation on the cluster that allows every
    row; `or_on_some_topic`: one on some topic that allows it. An empty operation: no right is needed, or the handler
    checks it."""

    operation: str
    asked: tuple[str, ...] = ()
    answered: str = ""
    by_row: bool = False
    by_handler: str = ""
    by_broker: bool = False
    or_on_cluster: str = ""
    or_on_some_topic: str = ""


def on_rows(operation: str, asked: str, answered: str, *, or_on_cluster: str = "") -> Access:
    """A right on the resource of each row of the request, or another one on the cluster."""
    return Access(operation, tuple(asked.split()), answered, by_row=True, or_on_cluster=or_on_cluster)


def on_cluster(operation: str, asked: str = "", answered: str = "") -> Access:
    return Access(operation, tuple(asked.split()), answered)


def on_named(operation: str, what: str = "each group") -> Access:
    """A right on something that the request names, and that is no topic."""
    return Access(operation, by_handler=what)


OPEN: Final = Access("")
OF_PRODUCER: Final = Access("IDEMPOTENT_WRITE", or_on_some_topic="WRITE")
"""The right to a producer id (KIP-679)."""
ACTION: Final = on_cluster(CLUSTER_ACTION)
OF_BROKER: Final = Access(CLUSTER_ACTION, by_broker=True)
"""The right to act as the broker with the id that the request names."""


@attrs.frozen
class Api:
    """A row of the table: an API, its handler, and the right that it needs.

    * `is_of_logs`: it is about records, which any broker has, so that a gateway on standby answers it itself.
    * `is_shared`: it changes nothing, and many clients send the same at once, so that one answer serves all of them.
    * `is_for_gateways`: it is offered only to a gateway that logged in as one.
    * `reads`: it changes nothing, so that it may be sent twice.
    * `before_login`: it is answered before the client has logged in, and never by another gateway.
    * `never_waits`: it does not wait for other requests of the same API.
    * `address_field`: the field with the id of a broker, where the answer has addresses of brokers.
    """

    messages: Messages
    handler: Handler
    access: Access = ACTION
    is_of_logs: bool = False
    is_shared: bool = False
    is_for_gateways: bool = False
    reads: bool = False
    before_login: bool = False
    never_waits: bool = False
    address_field: str | None = None
