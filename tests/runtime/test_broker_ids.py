"""Generated broker ids: distinct, above the reserved ones, kept over a lost session."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from kedge import NEW_BROKER_ID, BrokerRegistration, Controller, Settings
from kedge.controller.codec import keys
from kedge.stores import MemoryStore
from kedge.stores.base import ABSENT, Corrupt, Put, Unavailable
from kedge.stores.faults import FailBefore, Rule
from kedge.stores.memory import MemoryServer
from kedge.stores.recipes import next_number
from tests.runtime.world import Brokers, Cluster, HandClock

NEW = BrokerRegistration(NEW_BROKER_ID, host="new", port=9)
SEQUENCE = keys.BROKER_SEQUENCE


@pytest.fixture(params=["per_key", "global"])
def server(request: pytest.FixtureRequest) -> MemoryServer:
    """In which other keys are written, too: a global version is far from the count of one key's writes."""
    server = MemoryServer(versioning=request.param)
    store = MemoryStore(server)
    for number in range(50):
        store.commit([Put(f"/other/{number}", b"", ABSENT)], timeout_s=1)
    return server


def controller(server: MemoryServer, node_id: int = 1, **more: Any) -> Controller:
    return Controller(MemoryStore(server), node_id, Brokers(), clock=HandClock(), seed=node_id, **more)


def test_the_first_id_is_one_above_the_reserved_ones_and_ids_go_on_from_there(server: MemoryServer) -> None:
    """Whatever kind of versions the store has; also on a stand-by, which never led."""
    one, other = controller(server), controller(server, 2)
    assert [one.generate_broker_id(), other.generate_broker_id(), one.generate_broker_id()] == [1001, 1002, 1003]
    assert controller(server, 3, settings=Settings(reserved_broker_max_id=0)).generate_broker_id() == 4


def test_a_registration_without_id_gets_one(server: MemoryServer) -> None:
    """Each call registers one more broker; its id stands beside its epoch."""
    own = controller(server)
    epochs = [own.register_broker(NEW), own.register_broker(NEW)]
    assert own.broker_epochs == {1001: epochs[0], 1002: epochs[1]}
    assert MemoryStore(server).get(keys.broker(1002), timeout_s=1) is not None
    own.unregister_broker(1001, epochs[0])
    assert own.broker_epochs == {1002: epochs[1]}


def test_the_counter_goes_on_where_kafka_left_it(server: MemoryServer) -> None:
    """Kafka writes the key without a value and takes its version."""
    store = MemoryStore(server)
    store.commit([Put(SEQUENCE, b"", ABSENT)], timeout_s=1)
    for _ in range(7):
        entry = store.get(SEQUENCE, timeout_s=1)
        assert entry is not None
        store.commit([Put(SEQUENCE, b"", entry.version)], timeout_s=1)
    assert controller(server).generate_broker_id() == 1008


def test_no_id_is_left_above_the_largest() -> None:
    last = controller(MemoryServer(), settings=Settings(reserved_broker_max_id=2**31 - 2))
    assert last.generate_broker_id() == 2**31 - 1
    with pytest.raises(Corrupt, match="no broker id is left"):
        last.generate_broker_id()


def test_id_that_is_or_was_in_use_is_passed_over(server: MemoryServer) -> None:
    """One is registered under 1001, one was admitted as 1002 and is down."""
    own = controller(server)
    own.register_broker(BrokerRegistration(1001, host="there", port=9))
    MemoryStore(server).commit([Put(keys.admitted(1002), b'{"broker_epoch":5}', ABSENT)], timeout_s=1)
    assert own.generate_broker_id() == 1003


def test_concurrent_callers_get_distinct_ids(server: MemoryServer) -> None:
    """Eight threads, each with a client of its own, ten ids each."""
    found: list[int] = []
    barrier = threading.Barrier(8)

    def ask() -> None:
        store = MemoryStore(server)
        barrier.wait(10)
        found.extend([next_number(store, SEQUENCE, 5) for _ in range(10)])

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert sorted(found) == list(range(1, 81))


def test_a_store_that_cannot_be_reached_gives_no_id_and_registers_nothing() -> None:
    cluster = Cluster()
    cluster.store.play([Rule(FailBefore(), "commit")])
    sessions = len(cluster.server.sessions)
    with pytest.raises(Unavailable):
        cluster.controller.register_broker(NEW)
    assert cluster.controller.broker_epochs == {}
    assert len(cluster.server.sessions) == sessions


def test_a_broker_with_a_generated_id_keeps_it_over_a_lost_session() -> None:
    """The epoch is another, the id is not; what it holds stays its own."""
    cluster = Cluster()
    cluster.run()
    epoch = cluster.controller.register_broker(NEW)
    cluster.run()
    cluster.create("t", (1001,))
    entry = cluster.other.get(keys.broker(1001), timeout_s=1)
    assert entry is not None
    assert entry.owner is not None
    cluster.server.expire(entry.owner)
    cluster.run()
    ((broker_id, again),) = cluster.controller.broker_epochs.items()
    assert broker_id == 1001
    assert again > epoch
    assert cluster.state()["leader"] == 1001
    assert cluster.controller.describe().live_brokers == (1001,)
