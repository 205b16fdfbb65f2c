"""ZooKeeper as a backend of the suite, and as one that has no multiRead."""

from __future__ import annotations

from typing import cast

from kazoo.client import KazooClient

from kedge.stores import MetadataStore, open_store
from kedge.stores.suite import Backend, Hook
from kedge.stores.zookeeper import ZooKeeperStore
from servers import LocalServer, LocalZooKeeper
from servers.fixtures import shared_zookeeper
from tests.conformance.frames import MULTI_READ, UNIMPLEMENTED, FrameProxy
from tests.conformance.proxied import SESSION_S, ProxiedBackend
from tests.kit.waiting import until
from tests.stores.etcd.served import fresh_root


def server() -> LocalZooKeeper:
    """The server of this process, started at the first call."""
    return shared_zookeeper()


class ZooKeeperBackend(ProxiedBackend):
    """Clients of one ZooKeeper."""

    name = "zookeeper"
    hooks = frozenset(Hook) - {Hook.COMPACT}

    def __init__(self, on: LocalServer | None = None) -> None:
        super().__init__(server() if on is None else on)

    def expire(self, store: MetadataStore) -> None:
        """A second connection takes the session over and closes it, at once."""
        client = KazooClient(hosts=self._server.address, client_id=cast(ZooKeeperStore, store).link.credentials)
        client.start(timeout=10)
        client.stop()
        client.close()

    def disconnect(self, store: MetadataStore) -> None:
        """Returns once the client knows."""
        super().disconnect(store)
        until(lambda: not store.session.connected, "the client notices that it was cut off", self.wait_s)

    def outlive(self, store: MetadataStore) -> None:
        """The server ends it on request, which the client, cut off, cannot know."""
        self.expire(store)


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
