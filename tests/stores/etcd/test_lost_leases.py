"""A lease that etcd ended, and that the client has not heard of yet: the end of a session, and of nothing else."""

from __future__ import annotations

import pytest

from kedge import BrokerRegistration
from kedge.controller.runtime.clock import SystemClock
from kedge.controller.runtime.registrar import Registrar
from kedge.controller.wire.calls import Address
from kedge.controller.wire.peers.directory import Directory
from kedge.stores import MetadataStore
from servers.etcd import LocalEtcd

pytestmark = [pytest.mark.server, pytest.mark.slow]

CALL_S = 10.0


def revoke_of(server: LocalEtcd, store: MetadataStore, key: str) -> None:
    entry = store.get(key, timeout_s=CALL_S)
    assert entry is not None
    server.ask("lease/revoke", {"ID": entry.owner})


def test_a_broker_registers_in_a_new_session_where_its_lease_was_lost(
    etcd_server: LocalEtcd, store: MetadataStore
) -> None:
    """A process that was suspended learns it from its own commit, before any beat."""
    registrar = Registrar(store, SystemClock(), 5, CALL_S)
    first = registrar.register(BrokerRegistration(9))
    revoke_of(etcd_server, store, "/brokers/ids/9")
    assert registrar.register(BrokerRegistration(9, rack="b")) > first
    registrar.close()


def test_a_gateway_is_found_where_its_lease_was_lost(etcd_server: LocalEtcd, store: MetadataStore) -> None:
    """It is published once the next session has begun."""
    directory = Directory(store, 7)
    etcd_server.ask("lease/revoke", {"ID": store.session.session_id})
    directory.publish(Address("127.0.0.1", 9092), {})
    assert directory.is_published
    assert directory.find(7) == Address("127.0.0.1", 9092)
