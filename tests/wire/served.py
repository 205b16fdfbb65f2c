"""A cluster that a gateway serves: a controller in threads over the memory store, its host agrees to everything."""

from __future__ import annotations

import os
import socket
import ssl
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

from kedge import BrokerRegistration, Controller, Hooks, Settings
from kedge.controller.admin import Authorizer
from kedge.controller.model.values import Endpoint
from kedge.controller.wire import Gateway
from kedge.controller.wire.calls import Address
from kedge.controller.wire.messages import MESSAGES
from kedge.controller.wire.protocol import SIZE, build
from kedge.stores import MemoryStore
from kedge.stores.memory import MemoryServer
from tests.kit.waiting import until
from tests.runtime.world import Brokers

DEADLINE_S = 60.0
RACKS: Mapping[int, str] = {1: "a", 2: "b", 3: "c"}
_LISTENER = "OWN"
_SETTINGS = Settings(auto_leader_rebalance_enable=False)  # nothing happens but what is asked for


class Served:
    """`with Served() as served:` three brokers in racks a, b and c behind a gateway at `served.address`. Options are
    the gateway's; `permits` is what the controller lets do; `server` holds the store; `elsewhere`: brokers that clients
    reach at these addresses, not at the gateway."""

    def __init__(
        self,
        racks: Mapping[int, str] = RACKS,
        permits: Authorizer | None = None,
        node_id: int = 1,
        server: MemoryServer | None = None,
        elsewhere: Mapping[int, Address] | None = None,
        **options: Any,
    ) -> None:
        self._racks = racks
        self._elsewhere = elsewhere or {}
        self._node_id = node_id
        self._permits = permits
        self._options = options
        self._stack = ExitStack()
        self.server = server or MemoryServer()

    def __enter__(self) -> Self:
        self.store = MemoryStore(self.server)
        self._stack.callback(self.store.close)
        hooks = Hooks(authorizer=self._permits)
        controller = Controller(self.store, self._node_id, Brokers(), settings=_SETTINGS, hooks=hooks)
        self.controller = self._stack.enter_context(controller)
        self.controller.start()
        for broker, rack in self._racks.items():
            self.join(broker, rack)
        named = {"cluster_id": "kedge-under-test", "broker_listener": _LISTENER if self._elsewhere else None}
        self.gateway = Gateway(self.controller, **{**named, **self._options})
        self.address = self._stack.enter_context(self.gateway).address
        self.bootstrap = f"{self.address.host}:{self.address.port}"
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def join(self, broker: int, rack: str) -> None:
        """The broker is alive."""
        at = self._elsewhere.get(broker)
        endpoints = () if at is None else (Endpoint(_LISTENER, at.host, at.port),)
        self.controller.register_broker(BrokerRegistration(broker, rack=rack, endpoints=endpoints))
        until(lambda: broker in self.controller.describe().live_brokers)

    def leave(self, broker: int) -> None:
        """The broker is dead."""
        self.controller.unregister_broker(broker, self.controller.broker_epochs[broker])
        until(lambda: broker not in self.controller.describe().live_brokers)


class RawClient:
    """A client that sends what it is given, byte for byte. `source`: the address of the loopback that it calls from."""

    def __init__(
        self,
        address: Any,
        tls: ssl.SSLContext | None = None,
        timeout_s: float = DEADLINE_S,
        *,
        source: str = "127.0.0.1",
    ) -> None:
        origin = None if ":" in address.host else (source, 0)
        plain = socket.create_connection((address.host, address.port), timeout_s, origin)
        self._socket = plain if tls is None else tls.wrap_socket(plain, server_hostname=address.host)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def send(self, data: bytes) -> None:
        self._socket.sendall(data)

    def hang_up(self) -> None:
        """No more will be sent; answers are still read."""
        self._socket.shutdown(socket.SHUT_WR)

    def receive(self) -> bytes | None:
        """The next frame without its size; None when the server hung up."""
        head = self._read(SIZE.size)
        return None if head is None else self._read(SIZE.unpack(head)[0])

    def _read(self, size: int) -> bytes | None:
        read = b""
        while len(read) < size:
            more = self._socket.recv(size - len(read))
            if not more:
                return None
            read += more
        return read

    def begin(self, api: str, version: int, *, correlation_id: Any = 7, **fields: Any) -> None:
        """Send a request, which `answer` reads the answer to."""
        self.send(framed(frame_of(api, version, correlation_id=correlation_id, **fields)))

    def answer(self, api: str, version: int) -> Any:
        """The next answer."""
        answer = self.receive()
        assert answer is not None, "the gateway hung up"
        return MESSAGES[f"{api}Response"].decode(answer, version=version, header=True)

    def ask(self, api: str, version: int, *, correlation_id: Any = 7, **fields: Any) -> Any:
        """The answer to one request of this API, by Kafka's name of it (`Metadata`)."""
        self.begin(api, version, correlation_id=correlation_id, **fields)
        return self.answer(api, version)


def frame_of(api: str, version: int, *, correlation_id: Any = 7, **fields: Any) -> bytes:
    """A request with its header, without its size."""
    request = build(MESSAGES[f"{api}Request"], version, fields)
    request.with_header(correlation_id, f"raw-{correlation_id}")
    return bytes(request.encode(header=True))


def framed(frame: bytes) -> bytes:
    """It, with its size first."""
    return SIZE.pack(len(frame)) + frame


def sockets() -> set[str]:
    """Those that this process has open. What other tests left may open and close some at any time, so wait until there
    are no new ones; a number proves nothing."""
    return {name for file in Path("/proc/self/fd").iterdir() if "socket:" in (name := os.path.realpath(file))}
