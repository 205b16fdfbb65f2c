"""etcd as a backend of the suite."""

from __future__ import annotations

from kedge.stores import MetadataStore
from kedge.stores.suite import Hook
from servers import LocalEtcd
from tests.conformance.proxied import ProxiedBackend
from tests.kit.waiting import until
from tests.stores.etcd.served import server


class EtcdBackend(ProxiedBackend):
    """Clients of one etcd."""

    name = "etcd"
    hooks = frozenset(Hook)

    def __init__(self, on: LocalEtcd | None = None) -> None:
        self._etcd = server() if on is None else on
        super().__init__(self._etcd)

    def expire(self, store: MetadataStore) -> None:
        """By revoking the lease, which the client learns by its next beat."""
        self._etcd.ask("lease/revoke", {"ID": store.session.session_id})

    def outlive(self, store: MetadataStore) -> None:
        """Wait until etcd knows the lease no more."""
        lease = {"ID": store.session.session_id}
        until(lambda: self._etcd.ask("lease/timetolive", lease).get("TTL") == "-1", "the lease ends", self.wait_s)

    def compact(self) -> None:
        """Up to the revision of now."""
        header = self._etcd.ask("kv/range", {"key": "AA=="})["header"]
        assert isinstance(header, dict)
        self._etcd.ask("kv/compaction", {"revision": header["revision"], "physical": True})
