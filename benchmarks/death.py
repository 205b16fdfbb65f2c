"""One broker of ten dies, 200,000 partitions, RF 3: until every partition that it led is led by another, and until it
is out of every isr; from the end of its registration, by what is committed."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter

from benchmarks.cluster import QuietHost, named, observe, register
from benchmarks.driven import Driven
from benchmarks.figures import rate
from benchmarks.place import Place
from kedge.controller.model.view import ClusterView
from kedge.stores import Op

TOPICS, PARTITIONS, BROKERS = 20_000, 10, 10


class Deaths:
    """Notes when how many state keys had been written; a death writes each once, those that the broker led first."""

    def __init__(self, led: int, member_of: int) -> None:
        self._led, self._member_of, self._states = led, member_of, 0
        self.led_at = self.all_at = 0.0

    def note(self, ops: Sequence[Op], seconds: float) -> None:
        self._states += sum(op.key.endswith("/state") for op in ops)
        if not self.led_at and self._states >= self._led:
            self.led_at = perf_counter()
        if not self.all_at and self._states >= self._member_of:
            self.all_at = perf_counter()


def run(place: Place) -> None:
    place.fill(TOPICS, PARTITIONS, BROKERS)
    store = place.open()
    brokers = named(store)
    dies = brokers[2]
    driven = place.driven(store, QuietHost())
    controller = driven.controller
    epochs = register(controller, brokers)
    driven.settle()
    led, member_of = _asked(driven, dies)
    deaths = Deaths(led, member_of)
    observe(store, deaths.note)
    began = perf_counter()
    controller.unregister_broker(dies, epochs[dies])
    driven.until(lambda: deaths.all_at)
    assert _asked(driven, dies)[1] == 0
    rate("death of a broker, leaders moved", led, deaths.led_at - began, **place.figure)
    rate("death of a broker, out of every isr", member_of, deaths.all_at - began, **place.figure)


def _asked(driven: Driven, broker: int) -> tuple[int, int]:
    """How many partitions the broker leads, and in how many isr it is."""

    def counted(view: ClusterView) -> tuple[int, int]:
        on = [p for p in view.partitions_on(broker) if broker in p.isr]
        return sum(p.leader == broker for p in on), len(on)

    return driven.answer(driven.controller.query(counted))
