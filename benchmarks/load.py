"""Failover load: from elected to ready (everything loaded, every broker dirty), and until the last request was handed
to the host. 20,000 topics of 10 partitions, RF 3, 10 brokers, in Kafka's layout, from the memory store."""

from __future__ import annotations

from benchmarks.cluster import QuietHost, plant, register, settle
from benchmarks.figures import rate, timed
from controller import Controller
from stores import MemoryServer, MemoryStore

TOPICS, PARTITIONS, BROKERS = 20_000, 10, 10


def run() -> None:
    server = MemoryServer()
    plant(server, TOPICS, PARTITIONS, BROKERS)
    registrar = Controller(MemoryStore(server), 99, QuietHost())
    register(registrar, BROKERS)
    controller = Controller(MemoryStore(server), 1, QuietHost())
    with timed() as ready:
        controller.poll_once()
    described = controller.describe()
    assert described.is_active
    assert described.partitions == TOPICS * PARTITIONS
    with timed() as sent:
        settle(controller)
    rate("failover load, elected to ready", described.partitions, ready.seconds)
    rate("failover load, until the last request was handed over", described.partitions, ready.seconds + sent.seconds)
    controller.close()
    registrar.close()
