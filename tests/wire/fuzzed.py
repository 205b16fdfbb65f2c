"""The gateways that the fuzzer attacks: each takes other requests, or takes them in another way.

plain     the APIs of a controller, for anybody
orders    LeaderAndIsr, UpdateMetadata and StopReplica for a broker of this process, from a logged-in gateway
tls       the APIs of a controller behind TLS; some clients speak no TLS
records   Produce, Fetch and groups, on brokers that keep records
"""

from __future__ import annotations

import ssl
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

import attrs

from kedge import Controller, NewTopic
from kedge.controller.model.host import HostResponse
from kedge.controller.wire import Gateway, Peers, Tls
from kedge.controller.wire.apis import APIS
from kedge.controller.wire.calls import Api
from kedge.controller.wire.remote import with_orders
from kedge.controller.wire.security.gateways import login_at
from kedge.stores import MemoryStore
from tests.wire.certificates import Authority
from tests.wire.living import Living
from tests.wire.served import RawClient, Served
from tests.wire.sharing import SECRET, log_in

KEPT: Final = "kept"
"""A topic that no frame names: some frames are well-formed, and delete what they name."""


@attrs.frozen(eq=False)
class Target:
    """`connect`: a new connection on which frames may be sent; `bare`: one on which nothing was said yet."""

    name: str
    gateway: Gateway
    controller: Controller
    connect: Callable[[], RawClient]
    bare: Callable[[], RawClient]
    apis: Mapping[int, Api] = APIS


class _Obedient:
    """Brokers that obey every order."""

    def obeyed(self, _: object) -> HostResponse:
        return HostResponse()


def plain(served: Served) -> Target:
    """The gateway of a cluster, for anybody."""
    return _anybody("plain", served.gateway, served.controller)


def _anybody(name: str, gateway: Gateway, controller: Controller, apis: Mapping[int, Api] = APIS) -> Target:
    def connect() -> RawClient:
        return RawClient(gateway.address)

    return Target(name, gateway, controller, connect, connect, apis)


def _orders(stack: ExitStack, served: Served) -> Target:
    store = MemoryStore(served.server)
    stack.callback(store.close)
    apis = with_orders(_Obedient())
    gateway = Gateway(served.controller, apis=apis, peers=Peers(store=store, secret=SECRET))
    stack.enter_context(gateway)
    address = gateway.addresses((1,))[1]

    def connect() -> RawClient:
        client = RawClient(address)
        log_in(client, login_at(SECRET, address.host, address.port))
        return client

    orders = {key: api for key, api in apis.items() if key not in APIS}
    return Target("orders", gateway, served.controller, connect, lambda: RawClient(address), orders)


def _tls(stack: ExitStack, served: Served) -> Target:
    authority = Authority(Path(stack.enter_context(tempfile.TemporaryDirectory())))
    own = authority.sign("gateway")
    gateway = stack.enter_context(Gateway(served.controller, tls=Tls(own.certificate, own.key)))
    context = ssl.create_default_context(cafile=authority.file)

    def connect() -> RawClient:
        return RawClient(gateway.address, context)

    return Target("tls", gateway, served.controller, connect, lambda: RawClient(gateway.address))


def _records(stack: ExitStack) -> Target:
    living = stack.enter_context(Living())
    return _anybody("records", living.gateway, living.cluster.controller, living.apis)


@contextmanager
def targets() -> Iterator[tuple[Target, ...]]:
    """All of them, each with the topic that is kept."""
    with ExitStack() as stack:
        served = stack.enter_context(Served())
        found = (plain(served), _orders(stack, served), _tls(stack, served), _records(stack))
        for controller in {target.controller for target in found}:
            # Batches of the fuzzer are from long ago, and together larger than memory.
            kept = NewTopic(3, 3, configs={"retention.bytes": "4000000", "retention.ms": "-1"})
            controller.admin.create_topics({KEPT: kept}).all().result(30)
        yield found
