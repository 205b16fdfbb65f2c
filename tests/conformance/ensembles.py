"""Three servers that are one store, as a backend of the suite: what is killed is the one that leads the others, and the
clients go on with those that are left."""

from __future__ import annotations

from typing import Any, Final

from kedge.stores import MetadataStore, open_store
from kedge.stores.suite import Backend, Hook
from servers.ensembles import Ensemble
from tests.stores.etcd.served import fresh_root

SESSION_S: Final = 20


class EnsembleBackend(Backend):
    """Clients that may turn to any of the nodes."""

    hooks = frozenset({Hook.RESTART})
    wait_s = 60.0

    def __init__(self, on: Ensemble[Any]) -> None:
        self.name = f"{on.scheme}-ensemble"
        self._ensemble = on
        self._root = fresh_root()
        self._stores: list[MetadataStore] = []

    def open(self) -> MetadataStore:
        """One more client."""
        self._stores.append(open_store(self._ensemble.url(self._root, session_timeout=SESSION_S, connect_timeout=20)))
        return self._stores[-1]

    def close(self) -> None:
        """Close the clients."""
        for store in self._stores:
            store.close()

    def restart(self) -> None:
        """Kill -9 of the leader, and, once the others have elected, the same data again."""
        killed = self._ensemble.leader()
        killed.kill()
        self._ensemble.leader()
        killed.start()
