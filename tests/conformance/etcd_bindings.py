"""etcd as a backend of the suite: a root of its own for each case, and a proxy in front of each client, through
which the client is cut off or loses answers."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from typing import Final

from kedge.stores import MetadataStore, open_store
from kedge.stores.suite import Backend, Hook
from servers import LocalEtcd, Proxy
from tests.stores.etcd.served import fresh_root, server

SESSION_S: Final = 4  # long enough for a machine that is busy with other things for a second


class EtcdBackend(Backend):
    """Clients of one etcd, each through a proxy of its own."""

    name = "etcd"
    hooks = frozenset(Hook)
    wait_s = 30.0

    def __init__(self, on: LocalEtcd | None = None) -> None:
        self._server = server() if on is None else on
        self._root = fresh_root()
        self._clients: list[tuple[MetadataStore, Proxy]] = []

    def open(self) -> MetadataStore:
        """One more client, through one more proxy."""
        proxy = Proxy(self._server.address)
        try:
            store = open_store(f"etcd://{proxy.address}{self._root}?session_timeout={SESSION_S}&connect_timeout=10")
        except BaseException:
            proxy.close()
            raise
        self._clients.append((store, proxy))
        return store

    def close(self) -> None:
        """Close the clients, then their proxies."""
        for store, _ in self._clients:
            store.close()
        for _, proxy in self._clients:
            proxy.close()

    def expire(self, store: MetadataStore) -> None:
        """By revoking the lease, which the client learns by its next beat."""
        self._server.ask("lease/revoke", {"ID": store.session.session_id})

    def disconnect(self, store: MetadataStore) -> None:
        """At once."""
        self._proxy(store).cut()

    def reconnect(self, store: MetadataStore) -> None:
        """The client comes back by itself."""
        self._proxy(store).mend()

    def outlive(self, store: MetadataStore) -> None:
        """Wait until etcd knows the lease no more."""
        lease = {"ID": store.session.session_id}
        deadline_s = time.monotonic() + self.wait_s
        gone = threading.Event()
        while self._server.ask("lease/timetolive", lease).get("TTL") != "-1":
            assert time.monotonic() < deadline_s, "etcd keeps the lease"
            gone.wait(0.05)

    @contextlib.contextmanager
    def blackout(self, store: MetadataStore) -> Iterator[None]:
        """Requests arrive, answers do not."""
        self._proxy(store).swallow()
        try:
            yield
        finally:
            self._proxy(store).speak()

    def pause(self) -> None:
        """SIGSTOP."""
        self._server.pause()

    def resume(self) -> None:
        """SIGCONT."""
        self._server.resume()

    def restart(self) -> None:
        """Kill -9, and the same data again."""
        self._server.restart()

    def compact(self) -> None:
        """Up to the revision of now."""
        header = self._server.ask("kv/range", {"key": "AA=="})["header"]
        assert isinstance(header, dict)
        self._server.ask("kv/compaction", {"revision": header["revision"], "physical": True})

    def _proxy(self, store: MetadataStore) -> Proxy:
        return next(proxy for client, proxy in self._clients if client is store)
