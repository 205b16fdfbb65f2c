"""A real ZooKeeper for the tests of this folder: one for all, below a fresh chroot, or one of a test's own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from kazoo.client import KazooClient

from kedge.stores import MetadataStore, open_store
from servers import LocalZooKeeper
from tests.stores.etcd.served import fresh_root


@pytest.fixture
def server(zookeeper_server: LocalZooKeeper) -> LocalZooKeeper:
    """The server that all tests of the session share."""
    return zookeeper_server


@pytest.fixture
def own_server() -> Iterator[LocalZooKeeper]:
    """A server that the test may stop, pause and kill."""
    with LocalZooKeeper(settings={"forceSync": "no"}) as mine:
        yield mine


@pytest.fixture
def chroot() -> str:
    """A chroot in which nothing is."""
    return fresh_root()


@pytest.fixture
def url(server: LocalZooKeeper, chroot: str) -> str:
    """The shared server, at the fresh chroot."""
    return f"zookeeper://{server.address}{chroot}"


@pytest.fixture
def store(url: str) -> Iterator[MetadataStore]:
    """A client at the fresh chroot."""
    opened = open_store(url)
    yield opened
    opened.close()


@pytest.fixture
def raw(server: LocalZooKeeper) -> Iterator[KazooClient]:
    """Kazoo as it is, at the root: what others see."""
    client = KazooClient(hosts=server.address)
    client.start(timeout=10)
    yield client
    client.stop()
    client.close()
