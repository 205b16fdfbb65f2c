"""Clusters for tests of Kafka clients, without a JVM and without a container.

    Cluster    in threads of this process
    Server     in a process of `kedge serve`, for clients that must not share the test's process

In: how many brokers, their racks, who may connect, and what a test does to them: kill, pause and slow brokers, order
errors, count requests. Out: `bootstrap_servers` for stock clients. The fixtures `kedge_cluster` and `kedge_server` of
pytest are these two; both also work without pytest.

Raises ImportError with the `pip install` that is missing, where the extra `wire` is not installed.
"""

from __future__ import annotations

from ..controller.wire.request_log import Requests, Sent
from .basis import Fault
from .cluster import Cluster
from .server import Server

__all__ = ["Cluster", "Fault", "Requests", "Sent", "Server"]
