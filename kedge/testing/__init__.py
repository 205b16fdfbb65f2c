"""Clusters for tests of Kafka clients, without a JVM and without a container.

    Cluster    in threads of this process: it can kill brokers, order errors and slow brokers down
    Server     in a process of `kedge serve`, for clients that must not share the test's process

In: how many brokers, their racks, and what a test does to them. Out: `bootstrap_servers` for stock clients. The
fixtures `kedge_cluster` and `kedge_server` of pytest are these two; both also work without pytest.

Raises ImportError with the `pip install` that is missing, where the extra `wire` is not installed.
"""

from __future__ import annotations

from ..controller.wire.faults import Fault
from .cluster import Cluster
from .server import Server

__all__ = ["Cluster", "Fault", "Server"]
