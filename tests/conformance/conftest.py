"""Servers of three nodes, and in containers, for the bindings that are run on them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from servers import EtcdEnsemble, NoServer, ZooKeeperEnsemble
from servers.containers import ContainerEtcd, ContainerServer, ContainerZooKeeper
from tests.servers import has_sound_etcd


@pytest.fixture(scope="session")
def zookeeper_container() -> Iterator[ContainerServer]:
    """One for all cases; each is skipped, with the reason, where no container can be had."""
    with _run(lambda: ContainerZooKeeper(settings={"forceSync": "no"})) as server:
        yield server


@pytest.fixture(scope="session")
def etcd_container() -> Iterator[ContainerServer]:
    """As above."""
    with _run(ContainerEtcd) as server:
        yield server


@pytest.fixture(scope="session")
def zookeeper_ensemble() -> Iterator[ZooKeeperEnsemble]:
    """Three nodes, for all cases."""
    with ZooKeeperEnsemble(durable=False) as ensemble:
        yield ensemble


@pytest.fixture(scope="session")
def etcd_ensemble() -> Iterator[EtcdEnsemble]:
    """As above."""
    with EtcdEnsemble(durable=False, sound=has_sound_etcd()) as ensemble:
        yield ensemble


@contextmanager
def _run(make: Callable[[], ContainerServer]) -> Iterator[ContainerServer]:
    try:
        server = make()
    except NoServer as error:
        pytest.skip(f"not run in a container: {error}")
    with server:
        yield server
