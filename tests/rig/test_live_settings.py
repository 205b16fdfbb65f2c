"""Brokers read from the store what topics and they themselves have set."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest

from kedge import AlterConfigOp, ConfigResource, ConfigResourceType, NewTopic, TopicPartition
from kedge.controller.model.host import LeaderAndIsrPartition, LeaderAndIsrRequest
from kedge.controller.server import LiveCluster, LiveServer
from kedge.controller.server.configs import StoredSettings
from kedge.stores import ABSENT, MemoryStore
from kedge.stores.base import Delete, Put, Subscription
from kedge.stores.faults import FaultStore
from kedge.stores.memory import MemoryServer
from tests.kit.waiting import until
from tests.wire.served import DEADLINE_S

TOPIC = "/config/topics/orders"
Told = list[tuple[str, str, dict[str, str]]]


@pytest.fixture
def store() -> Iterator[MemoryStore]:
    opened = MemoryStore(MemoryServer())
    yield opened
    opened.close()


def put(store: MemoryStore, key: str, value: bytes) -> None:
    entry = store.get(key, timeout_s=5)
    store.commit([Put(key, value, ABSENT if entry is None else entry.version)], timeout_s=5)


def delete(store: MemoryStore, key: str) -> None:
    entry = store.get(key, timeout_s=5)
    assert entry is not None
    store.commit([Delete(key, entry.version)], timeout_s=5)


def config(**configs: str) -> bytes:
    said = ",".join(f'"{name}":"{value}"' for name, value in configs.items())
    return f'{{"version":1,"config":{{{said}}}}}'.encode()


@pytest.fixture
def told(store: MemoryStore) -> Iterator[Told]:
    """One topic has a setting when it begins."""
    put(store, TOPIC, config(a="1"))
    found: Told = []

    def tell(kind: str, name: str, configs: Mapping[str, str]) -> None:
        found.append((kind, name, dict(configs)))

    reading = StoredSettings(store, tell)
    reading.begin()
    yield found
    reading.close()


def test_first_settings_are_published_before_anything_else(told: Told) -> None:
    assert told == [("topics", "orders", {"a": "1"})]


def test_each_change_is_published_and_a_deleted_one_as_none(store: MemoryStore, told: Told) -> None:
    """Also where a key comes again that has the same version as the one that went."""
    put(store, "/config/brokers/<default>", config(b="2"))
    until(lambda: told[-1] == ("brokers", "<default>", {"b": "2"}))
    delete(store, TOPIC)
    until(lambda: told[-1] == ("topics", "orders", {}))
    put(store, TOPIC, config(a="3"))
    until(lambda: told[-1] == ("topics", "orders", {"a": "3"}))
    assert len(told) == 4


def test_what_cannot_be_read_leaves_in_force_what_was(store: MemoryStore, told: Told) -> None:
    put(store, TOPIC, b"{")
    put(store, "/config/brokers/1", config(c="4"))
    until(lambda: told[-1] == ("brokers", "1", {"c": "4"}))
    assert len(told) == 2
    put(store, TOPIC, config(a="5"))
    until(lambda: told[-1] == ("topics", "orders", {"a": "5"}))


def order(*, isr: tuple[int, ...], target: tuple[int, ...]) -> LeaderAndIsrRequest:
    """To broker 3, of one partition that lies on 1 and 2, or moves."""
    said = LeaderAndIsrPartition("orders", "id", 0, 1, 0, isr, 0, (1, 2), target, True, 0, 0)
    return LeaderAndIsrRequest(3, 0, 101, 1, False, (said,), ())


def test_limit_of_a_copy_is_known_before_it_begins(store: MemoryStore) -> None:
    """And nothing is read for an order without copies. Hints are of no use here, as none is read."""
    found: Told = []
    reading = StoredSettings(store, lambda kind, name, configs: found.append((kind, name, dict(configs))))
    for key in (TOPIC, "/config/topics/bills", "/config/brokers/3", "/config/brokers/2"):
        put(store, key, config(a=key[-1]))
    reading.read_for(order(isr=(1, 2), target=(1, 2)))
    assert found == []
    reading.read_for(order(isr=(1, 2), target=(1, 3)))
    assert found == [("brokers", "3", {"a": "3"}), ("topics", "orders", {"a": "s"})]
    put(store, "/config/brokers/<default>", config(b="1"))
    reading.read_for(order(isr=(1, 2, 3), target=(1, 3)))
    assert len(found) == 2
    reading.read_for(order(isr=(1,), target=(1, 2)))
    assert len(found) == 2
    reading.read_for(order(isr=(1, 2), target=(1, 3)))
    assert found[2:] == [("brokers", "<default>", {"b": "1"})]


def test_an_order_is_obeyed_by_what_is_known_while_the_store_does_not_answer(
    store: MemoryStore, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    reading = StoredSettings(store, lambda *_: pytest.fail("nothing was read"))
    put(store, TOPIC, config(a="1"))
    store.disconnect()
    reading.read_for(order(isr=(1, 2), target=(1, 3)))
    (line,) = caplog.messages
    assert line.startswith("broker 3 copies with its former settings, because the store failed: ")


def test_key_that_cannot_be_read_is_ignored_with_a_line(store: MemoryStore, caplog: pytest.LogCaptureFixture) -> None:
    reading = StoredSettings(store, lambda *_: pytest.fail("it was read"))
    put(store, TOPIC, b"{")
    reading.read_for(order(isr=(1, 2), target=(1, 3)))
    (line,) = caplog.messages
    assert line == f"the config key {TOPIC!r} is ignored: BadValue('expected JSON, got [hidden]')"


class _Deaf(StoredSettings):
    def _hinted(self, _: Subscription) -> set[str]:
        self._is_over.wait(DEADLINE_S)
        return set()


def test_a_rate_that_was_set_before_a_move_holds_from_its_first_byte(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where hints come late, here: never."""
    monkeypatch.setattr("kedge.controller.server.cluster.StoredSettings", _Deaf)
    with LiveCluster(LiveServer(), {1: None, 2: None, 3: None}) as cluster:
        cluster.until_ready(DEADLINE_S)
        admin = cluster.controller.admin
        admin.create_topics({"orders": NewTopic(replica_assignments=((1, 2),))}).all().result(DEADLINE_S)
        rate = AlterConfigOp("follower.reassignment.throttled.rate", "1")
        broker = ConfigResource(ConfigResourceType.BROKER, "3")
        admin.incremental_alter_configs({broker: [rate]}).all().result(DEADLINE_S)
        assert not cluster.brokers[3].quotas.is_limited
        admin.alter_partition_reassignments({TopicPartition("orders", 0): [1, 3]}).all().result(DEADLINE_S)
        until(lambda: cluster.brokers[3].replicas)
        assert cluster.brokers[3].quotas.is_limited


@pytest.mark.slow
def test_a_store_that_fails_delays_it() -> None:
    server = MemoryServer()
    inner, other = MemoryStore(server), MemoryStore(server)
    store = FaultStore(inner)
    found: Told = []
    reading = StoredSettings(store, lambda kind, name, configs: found.append((kind, name, dict(configs))))
    reading.begin()
    inner.disconnect()
    put(other, TOPIC, config(a="1"))
    assert found == []
    inner.reconnect()
    until(lambda: found == [("topics", "orders", {"a": "1"})])
    reading.close()
    inner.close()
    other.close()
