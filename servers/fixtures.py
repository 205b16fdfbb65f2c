"""Real servers as fixtures of pytest: one of each kind for a whole session, started for the first test that uses it.

    pytest_plugins = ["servers.fixtures"]  # in conftest.py, or: pytest -p servers.fixtures

    def test_mine(etcd_server):
        store = open_store(etcd_server.url("/mine"))

Rules
* All tests share them: each uses a root of its own. A test that stops or kills one starts it again, or uses a server of
  its own (`LocalEtcd`, `EtcdEnsemble`).
* If a server is not available, the tests that need it fail with what is missing; they are not skipped.
* They are not durable against a power cut, to save disk writes; `kill` and `restart` lose nothing.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator

import pytest

from servers import LocalEtcd, LocalZooKeeper


@functools.cache
def shared_zookeeper() -> LocalZooKeeper:
    """The running ZooKeeper of this process, for use outside of fixtures. It ends with the session or the process."""
    server = LocalZooKeeper(settings={"forceSync": "no"})
    server.start()
    return server


@functools.cache
def shared_etcd() -> LocalEtcd:
    """The running etcd of this process, as above."""
    server = LocalEtcd(durable=False)
    server.start()
    return server


@pytest.fixture(scope="session")
def zookeeper_server() -> Iterator[LocalZooKeeper]:
    """A running ZooKeeper for all tests of the session."""
    server = shared_zookeeper()
    yield server
    shared_zookeeper.cache_clear()
    server.close()


@pytest.fixture(scope="session")
def etcd_server() -> Iterator[LocalEtcd]:
    """A running etcd for all tests of the session."""
    server = shared_etcd()
    yield server
    shared_etcd.cache_clear()
    server.close()
