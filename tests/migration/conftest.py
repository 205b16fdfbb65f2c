"""A busy cluster, made once for each module."""

from __future__ import annotations

import pytest

from kedge.stores import MemoryServer
from tests.migration.sites import Site, copy_of, make_busy, memory
from tests.runtime.world import Brokers


@pytest.fixture(scope="session")
def busy() -> MemoryServer:
    """What it left in its store; do not write there."""
    server = MemoryServer()
    make_busy(memory(server, Brokers()))
    return server


@pytest.fixture
def host() -> Brokers:
    return Brokers()


@pytest.fixture
def source(busy: MemoryServer, host: Brokers) -> Site:
    return memory(copy_of(busy), host)


@pytest.fixture
def target(host: Brokers) -> Site:
    return memory(MemoryServer(value_bytes_max=2_000, commit_ops_max=9), host)
