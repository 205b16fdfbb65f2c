"""The suite's harness on a real ZooKeeper: a chroot and proxies per case."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from typing import cast

from kazoo.client import KazooClient

from kedge.stores import MetadataStore, open_store
from kedge.stores.suite import Backend, Hook
from kedge.stores.zookeeper import ZooKeeperStore
from servers import LocalServer, LocalZooKeeper, Proxy
from servers.fixtures import shared_zookeeper
from tests.conformance.frames import MULTI_READ, UNIMPLEMENTED, FrameProxy
from tests.stores.etcd.served import fresh_root

SESSION_S = 4.0


def server() -> LocalZooKeeper:
    """The server of this process, started at the first call."""
    return shared_zookeeper()


class ZooKeeperBackend(Backend):
    """Each client goes through a proxy of its own, which its `another_session` goes through, too."""

    name = "zookeeper"
    hooks = frozenset(Hook) - {Hook.COMPACT}
    wait_s = 30.0

    def __init__(self, on: LocalServer | None = None) -> None:
        self._server = server() if on is None else on
        self._chroot = fresh_root()
        self._proxies: dict[MetadataStore, Proxy] = {}

    def open(self) -> MetadataStore:
        """A client through a new proxy."""
        proxy = Proxy(self._server.address)
        try:
            store = open_store(f"zookeeper://{proxy.address}{self._chroot}?session_timeout={SESSION_S}")
        except BaseException:
            proxy.close()
            raise
        self._proxies[store] = proxy
        return store

    def close(self) -> None:
        """Close the clients, then the proxies."""
        for store, proxy in self._proxies.items():
            proxy.speak()
            store.close()
        for proxy in self._proxies.values():
            proxy.close()

    def expire(self, store: MetadataStore) -> None:
        """A second connection takes the session over and closes it, at once."""
        client = KazooClient(hosts=self._server.address, client_id=cast(ZooKeeperStore, store).link.credentials)
        client.start(timeout=10)
        client.stop()
        client.close()

    def disconnect(self, store: MetadataStore) -> None:
        """Through the proxy; returns once the client knows."""
        self._proxies[store].cut()
        deadline_s = time.monotonic() + self.wait_s
        while store.session.connected:
            assert time.monotonic() < deadline_s, "the client never noticed that it was cut off"
            time.sleep(0.001)

    def reconnect(self, store: MetadataStore) -> None:
        """Through the proxy; the client comes back by itself."""
        self._proxies[store].mend()

    def outlive(self, store: MetadataStore) -> None:
        """The server ends it on request, which the client, cut off, cannot know."""
        self.expire(store)

    @contextlib.contextmanager
    def blackout(self, store: MetadataStore) -> Iterator[None]:
        """The proxy swallows what the server says."""
        proxy = self._proxies[store]
        proxy.swallow()
        try:
            yield
        finally:
            proxy.speak()

    def pause(self) -> None:
        """SIGSTOP."""
        server().pause()

    def resume(self) -> None:
        """SIGCONT."""
        server().resume()

    def restart(self) -> None:
        """Kill -9, and start again."""
        self._server.restart()


class OldZooKeeperBackend(Backend):
    """The same server, which seems not to know multiRead, as those before 3.6."""

    name = "zookeeper-without-multiread"

    def __init__(self, on: LocalZooKeeper | None = None) -> None:
        self._chroot = fresh_root()
        self._proxy = FrameProxy(
            (server() if on is None else on).port, lambda opcode: UNIMPLEMENTED if opcode == MULTI_READ else None
        )
        self._stores: list[MetadataStore] = []

    def open(self) -> MetadataStore:
        """A client through the one proxy."""
        self._stores.append(open_store(f"zookeeper://{self._proxy.address}{self._chroot}?session_timeout={SESSION_S}"))
        return self._stores[-1]

    def close(self) -> None:
        """Close the clients, then the proxy."""
        for store in self._stores:
            store.close()
        self._proxy.close()
