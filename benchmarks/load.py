"""Failover load: from elected to ready (everything loaded, every broker dirty), and until the last request was handed
to the host. 20,000 topics of 10 partitions, RF 3, 10 brokers, in Kafka's layout."""

from __future__ import annotations

from benchmarks.cluster import QuietHost, named, register, settle
from benchmarks.figures import rate, timed
from benchmarks.place import Place
from controller import Controller

TOPICS, PARTITIONS, BROKERS = 20_000, 10, 10


def run(place: Place) -> None:
    place.fill(TOPICS, PARTITIONS, BROKERS)
    store = place.open()
    registrar = Controller(place.open(), 99, QuietHost())
    register(registrar, named(store))
    controller = Controller(store, 1, QuietHost())
    with timed() as ready:
        controller.poll_once()
    described = controller.describe()
    assert described.is_active
    assert described.partitions
    with timed() as sent:
        settle(controller)
    handed_s = ready.seconds + sent.seconds
    rate("failover load, elected to ready", described.partitions, ready.seconds, **place.figure)
    rate("failover load, until the last request was handed over", described.partitions, handed_s, **place.figure)
    controller.close()
    registrar.close()
