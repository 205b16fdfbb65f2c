"""Failover load: from elected to ready (everything loaded, every broker dirty), and until the last request was handed
to the host. 20,000 topics of 10 partitions, RF 3, 10 brokers, in Kafka's layout."""

from __future__ import annotations

from collections.abc import Collection

from benchmarks.cluster import QuietHost, named, register
from benchmarks.figures import rate, timed
from benchmarks.place import Place
from kedge import Controller

TOPICS, PARTITIONS, BROKERS = 20_000, 10, 10


def run(place: Place) -> None:
    place.fill(TOPICS, PARTITIONS, BROKERS)
    registrar = Controller(place.open(), 99, QuietHost())
    register(registrar, named(place.open()))
    take_over(place, "failover load", registrar.broker_epochs)
    registrar.close()


def take_over(place: Place, what: str, brokers: Collection[int]) -> None:
    """A controller is elected, and has handed everything over to all of these brokers; the figures of both."""
    driven = place.driven(place.open(), QuietHost())
    controller = driven.controller
    driven.host.may_begin.clear()
    with timed() as ready:
        driven.until(lambda: controller.is_active and controller.describe().partitions)
    described = controller.describe()
    assert described.is_active
    assert described.partitions
    with timed() as sent:
        driven.host.may_begin.set()
        driven.until(lambda: driven.host.updated.issuperset(brokers))
    handed_s = ready.seconds + sent.seconds
    rate(f"{what}, elected to ready", described.partitions, ready.seconds, **place.figure)
    rate(f"{what}, until the last request was handed over", described.partitions, handed_s, **place.figure)
    controller.close()
