"""Takeover after every broker registered again: the tree and hosts of `load`, twice in one sitting. First no broker
bounced, then all ten did, each under another broker epoch than the last admitted one."""

from __future__ import annotations

from benchmarks.cluster import QuietHost, named, register, settle
from benchmarks.load import take_over
from benchmarks.place import Place
from kedge import Controller
from kedge.stores import MetadataStore

TOPICS, PARTITIONS, BROKERS = 20_000, 10, 10


def run(place: Place) -> None:
    place.fill(TOPICS, PARTITIONS, BROKERS)
    brokers = named(place.open())
    for what in ("nobody bounced", "all brokers bounced"):
        registrar = Controller(place.open(), 99, QuietHost())
        register(registrar, brokers)
        if what == "nobody bounced":
            _admit(place.open())
        take_over(place, f"takeover, {what}", brokers)
        registrar.close()


def _admit(store: MetadataStore) -> None:
    """A controller led before, and admitted every broker that is registered."""
    controller = Controller(store, 98, QuietHost())
    settle(controller)
    controller.close()
