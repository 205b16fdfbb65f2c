"""A real server as a backend of the suite, with a root of its own for each case.

A proxy in front of each client cuts it off or loses answers; its `another_session` uses the same one.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from kedge.stores import MetadataStore, open_store
from kedge.stores.suite import Backend
from servers import LocalServer, Proxy
from tests.stores.etcd.served import fresh_root

SESSION_S = 4  # long enough for a machine that is busy with other things for a second


class ProxiedBackend(Backend):
    """Clients of one server, which is shared."""

    wait_s = 30.0

    def __init__(self, server: LocalServer) -> None:
        self._server = server
        self._root = fresh_root()
        self._proxies: dict[MetadataStore, Proxy] = {}

    def open(self) -> MetadataStore:
        """A client through a new proxy."""
        proxy = Proxy(self._server.address)
        try:
            options = f"session_timeout={SESSION_S}&connect_timeout=10"
            store = open_store(f"{self._server.scheme}://{proxy.address}{self._root}?{options}")
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

    def disconnect(self, store: MetadataStore) -> None:
        """At once."""
        self._proxies[store].cut()

    def reconnect(self, store: MetadataStore) -> None:
        """The client comes back by itself."""
        self._proxies[store].mend()

    @contextlib.contextmanager
    def blackout(self, store: MetadataStore) -> Iterator[None]:
        """Requests arrive, answers do not."""
        self._proxies[store].swallow()
        try:
            yield
        finally:
            self._proxies[store].speak()

    def pause(self) -> None:
        """SIGSTOP."""
        self._server.pause()

    def resume(self) -> None:
        """SIGCONT."""
        self._server.resume()

    def restart(self) -> None:
        """Kill -9, and the same data again."""
        self._server.restart()
