"""A cluster in this process and in real time: controllers in threads, simulated brokers, and clients of them.

    store     clients of the store, in memory or real
    node      a controller in threads of its own, whose callbacks reach the simulated brokers
    shelf     the records of a partition, kept once for all of its replicas
    logs      what clients do: append, read, look up offsets; and which of them wait for what
    led_groups a coordinator of consumer groups with its log
    groups    which broker has which of them
    retention records that go by themselves
    reading   what one replica answers to clients that read
    configs   configs of topics and brokers, as brokers read them from the store
    steps     the thread in which brokers copy, report and send requests
    cluster   all of the above put together

The brokers are those of `controller.simulated`, by the wall clock. No invariant is checked. Everything that touches a
broker runs under one lock.
"""

from __future__ import annotations

from controller.server.cluster import LiveCluster
from controller.server.logs import RETENTION_BYTES, LiveLogs
from controller.server.store import LiveServer

__all__ = ["RETENTION_BYTES", "LiveCluster", "LiveLogs", "LiveServer"]
