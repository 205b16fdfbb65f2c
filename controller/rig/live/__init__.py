"""The rig's brokers in real time: a cluster in this process that stock clients produce to and consume from.

    server    clients of the store, memory or real, without a record of what they commit
    node      a controller in threads of its own, whose callbacks reach the simulated brokers
    shelf     the records of a partition, kept once for all of its replicas
    logs      what clients do: append, read, ask for offsets; who waits for what
    reading   what one replica answers to clients that read
    settings  what is set, as brokers read it from the store
    steps     the thread in which brokers copy, report and ask, and when
    cluster   all of the above put together

The brokers, their logs, what they copy and what they ask are those of `controller.rig`; only time is another: it is
that of the wall, and nothing is held against the invariants. Everything that touches a broker runs under one lock.
"""

from __future__ import annotations

from controller.rig.live.cluster import LiveCluster
from controller.rig.live.logs import RETENTION_BYTES, LiveLogs
from controller.rig.live.server import LiveServer

__all__ = ["RETENTION_BYTES", "LiveCluster", "LiveLogs", "LiveServer"]
