"""Servers of three nodes, for the bindings that run on them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from servers import EtcdEnsemble, ZooKeeperEnsemble


@pytest.fixture(scope="session")
def zookeeper_ensemble() -> Iterator[ZooKeeperEnsemble]:
    """Three nodes, for all cases."""
    with ZooKeeperEnsemble(durable=False) as ensemble:
        yield ensemble


@pytest.fixture(scope="session")
def etcd_ensemble() -> Iterator[EtcdEnsemble]:
    """As above."""
    with EtcdEnsemble(durable=False) as ensemble:
        yield ensemble
