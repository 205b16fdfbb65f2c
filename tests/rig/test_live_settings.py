"""Brokers read from the store what topics and they themselves have set."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest

from controller.rig.live.settings import StoredSettings
from stores import ABSENT, MemoryStore
from stores.base import Delete, Put
from stores.faults import FaultStore
from stores.memory import MemoryServer
from tests.wire.served import until

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


def test_what_is_set_at_the_beginning_is_told_before_anything_else(told: Told) -> None:
    assert told == [("topics", "orders", {"a": "1"})]


def test_each_change_is_told_and_what_goes_is_told_as_nothing(store: MemoryStore, told: Told) -> None:
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
