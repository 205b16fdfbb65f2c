"""A cluster in this process and in real time: controllers in threads, simulated brokers, and clients of them.

    store       clients of the store, in memory or real
    node        a controller in its own threads, whose callbacks reach the simulated brokers
    shelf       the records of a partition, stored once for all of its replicas
    shelves     those of all partitions, and the deletion of the oldest
    futures     answers for callers in other threads
    logs        the requests of clients: append, read, look up offsets
    leaders     the replica that answers a request
    promises, waiting    the appends and the fetches that wait
    led_groups  a coordinator of consumer groups with its log
    groups      the coordinators that each broker leads
    policies    what becomes of the records of a topic
    retention   deletion of records by time and size
    compacting  which batches may be compacted, when, and what remains of them
    compaction  compaction of all partitions
    reading     a replica's answers to clients that read
    configs     configs of topics and brokers, as brokers read them from the store
    steps       the thread in which brokers copy, report and send requests
    cluster     all of the above put together
    history     how fast replicas copied over the last minutes, for the status page of `kedge serve`

The brokers are those of `kedge.controller.simulated`, with the wall clock. No invariant is checked. Everything that
touches a broker runs under one lock.
"""

from __future__ import annotations

from .cluster import LiveCluster as LiveCluster
from .logs import LiveLogs as LiveLogs
from .shelves import RETENTION_BYTES as RETENTION_BYTES
from .store import LiveServer as LiveServer
