"""Real servers as fixtures of pytest: one of each kind for a whole session, started when the first test asks for it.

    pytest_plugins = ["servers.fixtures"]  # in conftest.py, or: pytest -p servers.fixtures

    def test_mine(etcd_server):
        store = open_store(etcd_server.url("/mine"))

Rules
* All tests share them: each takes a root of its own, and a test that stops or kills one brings it back, or takes one of
  its own (`LocalEtcd`, `EtcdEnsemble`).
* Where a server cannot be had, the tests that ask for it fail with what is missing; they are not skipped.
* They save their disk the work of being durable against a power cut; `kill` and `restart` lose nothing.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator

import pytest

from servers import LocalEtcd, LocalZooKeeper


@functools.cache
def shared_zookeeper() -> LocalZooKeeper:
    """The ZooKeeper of this process, for what is no fixture. It runs, and ends with the session or the process."""
    server = LocalZooKeeper(settings={"forceSync": "no"})
    server.start()
    return server


@functools.cache
def shared_etcd() -> LocalEtcd:
    """The etcd of this process, as above."""
    server = LocalEtcd(durable=False)
    server.start()
    return server


@pytest.fixture(scope="session")
def zookeeper_server() -> Iterator[LocalZooKeeper]:
    """A ZooKeeper that runs, for all tests of the session."""
    server = shared_zookeeper()
    yield server
    shared_zookeeper.cache_clear()
    server.close()


@pytest.fixture(scope="session")
def etcd_server() -> Iterator[LocalEtcd]:
    """An etcd that runs, for all tests of the session."""
    server = shared_etcd()
    yield server
    shared_etcd.cache_clear()
    server.close()
