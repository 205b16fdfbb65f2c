"""One broker of ten dies, 200,000 partitions, RF 3: until every partition that it led is led by another, and until it
is out of every isr; from the end of its registration, by what is committed."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter

from benchmarks.cluster import QuietHost, named, observe, register, settle
from benchmarks.figures import rate
from benchmarks.place import Place
from controller import Controller
from controller.model.view import ClusterView
from stores import Op

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
    controller = Controller(store, 1, QuietHost())
    epochs = register(controller, brokers)
    settle(controller)
    led, member_of = _asked(controller, dies)
    deaths = Deaths(led, member_of)
    observe(store, deaths.note)
    began = perf_counter()
    controller.unregister_broker(dies, epochs[dies])
    while not deaths.all_at:
        controller.poll_once()
    settle(controller)
    assert _asked(controller, dies)[1] == 0
    rate("death of a broker, leaders moved", led, deaths.led_at - began, **place.figure)
    rate("death of a broker, out of every isr", member_of, deaths.all_at - began, **place.figure)
    controller.close()


def _asked(controller: Controller, broker: int) -> tuple[int, int]:
    """How many partitions the broker leads, and in how many isr it is."""

    def counted(view: ClusterView) -> tuple[int, int]:
        on = [p for p in view.partitions_on(broker) if broker in p.isr]
        return sum(p.leader == broker for p in on), len(on)

    counts = controller.query(counted)
    settle(controller)
    return counts.result(0)
