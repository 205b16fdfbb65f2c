"""The gateway: started by a host beside its controller, so that Kafka's clients can use that controller."""

from __future__ import annotations

import asyncio
import ssl
import threading
from collections import Counter
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import AsyncExitStack
from typing import Any, Self, TypeVar

from ..host import Controller, WrongMode
from ..metrics import Snapshot
from .apis import APIS
from .calls import Address, Api
from .clients import Clients
from .limits import Limits
from .listeners import Listeners, is_loopback
from .measured import measured
from .peers import Peers
from .peers.controller_client import ControllerClient
from .peers.forwarding import Forwarding
from .security.acls import Authorizer, allow_all
from .security.tls import Tls, as_context
from .security.users import Users
from .serving import Service
from .working import Work

LOOPBACK = "127.0.0.1"
T = TypeVar("T")


class Gateway:
    """Serves Kafka's protocol for a controller that runs in threads (`Controller.start()`).

    `host`, `port`: the common address of clients (port 0: any free one); each broker id gets its own address beside it,
    at `port` + 1 + its id where that is free. `advertised`: the host for clients, if it is not `host`; required where
    `host` is every address of the machine (0.0.0.0). `cluster_id`: for Metadata. `limits`: what is accepted from
    clients. `broker_listener`: clients reach brokers that registered a listener of this name at it; of several names
    the first that a broker has counts. `apis`: the table of APIs, by API key.

    `users`: clients log in as one of these. `tls`: addresses use TLS; with a context that requires certificates,
    clients are identified by these. `authorizer`: decides their rights; required with either of the two, without it
    everything is allowed. `allow_anonymous`: must be set where other machines can connect and neither of the two is
    given. Raises ValueError where these rules are broken.

    `has_controller_node`: clients see the controller as a node of its own, at the common address, with the controller's
    node id. For brokers that answer clients themselves and are not the controller.

    `peers`: how the gateways of other controllers are found. While the controller of this one is on standby, requests
    are forwarded to the gateway of the active one, which answers them.

    In its own thread with `start()` and `close()`; on a loop of the host with `await open()` and `await shut()`.
    """

    def __init__(
        self,
        controller: Controller,
        host: str = LOOPBACK,
        port: int = 0,
        *,
        advertised: str | None = None,
        cluster_id: str | None = None,
        limits: Limits | None = None,
        broker_listener: str | Sequence[str] | None = None,
        apis: Mapping[int, Api] = APIS,
        users: Users | None = None,
        tls: ssl.SSLContext | Tls | None = None,
        authorizer: Authorizer | None = None,
        allow_anonymous: bool = False,
        peers: Peers | None = None,
        has_controller_node: bool = False,
    ) -> None:
        context = as_context(tls)
        authenticates = users is not None or (context is not None and context.verify_mode is ssl.CERT_REQUIRED)
        if not (authenticates or allow_anonymous or is_loopback(host)):
            raise ValueError(f"{host!r} is not only local: users, client certificates or allow_anonymous is required")
        if authenticates and authorizer is None:
            raise ValueError("an authorizer (Acls, or allow_all) is required, because clients log in")
        if authenticates and peers is not None and peers.secret is None:
            raise ValueError("Peers.secret is required, because gateways send each other the identity of clients")
        self._forwarding = None if peers is None else Forwarding(controller, peers, context)
        limits = limits or Limits()
        self._listeners = Listeners(
            host,
            port,
            self._connected,
            advertised=advertised,
            has_controller_node=has_controller_node,
            broker_listeners=(broker_listener,) if isinstance(broker_listener, str) else broker_listener or (),
        )
        self.asking = None if self._forwarding is None else ControllerClient(self._forwarding)
        """Set if there are `peers`: with it brokers of this process send requests to the active controller in any
        process, while the gateway listens."""
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._address: Address | None = None
        self._watching: asyncio.Task[None] | None = None
        self._controller = controller
        self.counts: Counter[str] = Counter()
        """Numbers of opened connections, of served requests (`requests`, and by API), and of refusals by kind
        (`kedge.controller.wire.errors`)."""
        work = Work(
            controller=controller,
            apis=apis,
            addresses=self._listeners,
            cluster_id=cluster_id,
            limits=limits,
            authorizer=authorizer or allow_all,
            counts=self.counts,
            has_peers=peers is not None,
        )
        service = Service(work, users, None if peers is None else peers.secret, self._forwarding)
        self._clients = Clients(service, limits, context, self.counts, self._called)

    def metrics(self) -> Snapshot:
        """`counts` as values under names, as `Controller.metrics` has them. From any thread."""
        return measured(dict(self.counts), self._controller.describe().controller_id)

    # --- in a thread

    def start(self) -> Address:
        """Listen, in a thread; returns the common address. Raises OSError where it is taken, WrongMode when the gateway
        was started before. After an error it can be started again."""
        if self._thread is not None:
            raise WrongMode("this gateway was started before")
        opened: Future[Address] = Future()
        thread = threading.Thread(target=lambda: asyncio.run(self._live(opened)), name="kedge-gateway", daemon=True)
        thread.start()
        address = opened.result()
        self._thread = thread
        return address

    def close(self) -> None:
        """It no longer listens, and all connections are closed."""
        loop, thread = self._loop, self._thread
        if loop is not None and thread is not None and thread.is_alive():
            loop.call_soon_threadsafe(self._ended.set)
            thread.join()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def _live(self, opened: Future[Address]) -> None:
        try:
            address = await self.open()
        except BaseException as error:  # noqa: BLE001 - it is raised in `start`
            opened.set_exception(error)
            return
        self._loop, self._ended = asyncio.get_running_loop(), asyncio.Event()
        opened.set_result(address)
        await self._ended.wait()
        await self.shut()

    def addresses(self, broker_ids: Iterable[int]) -> dict[int, Address]:
        """The addresses of these brokers for clients, while the gateway runs in its thread. They stay open."""
        return self._run(self._kept(tuple(broker_ids)))

    async def _kept(self, broker_ids: tuple[int, ...]) -> dict[int, Address]:
        found = await self._listeners.keep(broker_ids)
        if self._forwarding is not None:
            await self._forwarding.beside(found)
        return found

    # --- brokers that fail, from any thread while the gateway runs in its own

    def refuse(self, broker_id: int) -> None:
        """As if the broker's process had ended: connections to its address are cut off, and refused until `accept`."""
        self._run(self._refuse(broker_id))

    def accept(self, broker_id: int) -> None:
        """Clients can connect to the address again. Nothing happens where they can."""
        self._run(self._listeners.accept(broker_id))

    def pause(self, broker_id: int) -> None:
        """As if the broker's process were stopped: clients connect to its address, and get no answer until `resume`."""
        self._run(self._clients.pause(broker_id))

    def resume(self, broker_id: int) -> None:
        """Requests that wait at the broker's address are answered now."""
        self._run(self._clients.resume(broker_id))

    def _run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        if self._loop is None or self._address is None:
            coroutine.close()
            raise WrongMode("this gateway does not listen yet")
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    async def _refuse(self, broker_id: int) -> None:
        await self._listeners.refuse(broker_id)
        await self._clients.hang_up(broker_id)

    # --- on a loop

    @property
    def address(self) -> Address:
        """The common address. Raises WrongMode before there is one."""
        if self._address is None:
            raise WrongMode("this gateway does not listen yet")
        return self._address

    async def open(self) -> Address:
        """Listen, on the running loop. Raises OSError where the address is taken; AlreadyRunning where there are
        `peers` and another process has a gateway under this controller's id."""
        address = await self._listeners.open()
        if self._forwarding is not None and self.asking is not None:
            try:
                await self._forwarding.open(address)
            except BaseException:
                await self._close(self._listeners)
                raise
            self.asking.open()
        self._address = address
        self._watching = asyncio.create_task(self._clients.watch_logins())
        return address

    async def shut(self) -> None:
        """Close all connections, and listen no longer."""
        if self._watching is not None:
            self._watching.cancel()
        await self._close(self.asking, self._forwarding, self._listeners)

    async def _close(self, *parts: ControllerClient | Forwarding | Listeners | None) -> None:
        """Close these parts and all connections, also where closing one of them fails."""
        async with AsyncExitStack() as closing:
            closing.push_async_callback(self._clients.hang_up)
            for part in reversed(parts):
                if part is not None:
                    closing.push_async_callback(part.close)

    def _connected(self, broker_id: int | None, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._clients.connected(broker_id, reader, writer)

    def _called(self, broker_id: int | None, port: int) -> Address:
        """The address that a client called, as gateways publish it."""
        found = Address(self._listeners.host_for_clients, port)
        return found if self._forwarding is None or broker_id is not None else self._forwarding.published(found)
