"""One broker of ten dies, 200,000 partitions, RF 3, memory store: until every partition that it led is led by
another, and until it is out of every isr; from the end of its registration, by what is committed."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter

from benchmarks.cluster import QuietHost, plant, register, settle
from benchmarks.figures import rate
from controller import Controller
from stores import Commit, MemoryServer, MemoryStore, Op

TOPICS, PARTITIONS, BROKERS, DIES = 20_000, 10, 10, 3
MEMBER_OF = TOPICS * PARTITIONS * 3 // BROKERS
LED = TOPICS * PARTITIONS // BROKERS


class WatchedStore(MemoryStore):
    """Notes when how many state keys had been written; a death writes each once, those that the broker led first."""

    states = 0
    led_at = all_at = 0.0

    def commit(self, ops: Sequence[Op], *, timeout_s: float) -> Commit:
        done = super().commit(ops, timeout_s=timeout_s)
        self.states += sum(op.key.endswith("/state") for op in ops)
        if not self.led_at and self.states >= LED:
            self.led_at = perf_counter()
        if not self.all_at and self.states >= MEMBER_OF:
            self.all_at = perf_counter()
        return done


def run() -> None:
    server = MemoryServer()
    plant(server, TOPICS, PARTITIONS, BROKERS)
    store = WatchedStore(server)
    controller = Controller(store, 1, QuietHost())
    epochs = register(controller, BROKERS)
    settle(controller)
    store.states, store.led_at, store.all_at = 0, 0.0, 0.0
    began = perf_counter()
    controller.unregister_broker(DIES, epochs[DIES])
    settle(controller)
    left = controller.query(lambda view: [p.tp for p in view.partitions_on(DIES) if DIES in p.isr])
    settle(controller)
    assert left.result(0) == []
    rate("death of a broker, leaders moved", LED, store.led_at - began)
    rate("death of a broker, out of every isr", MEMBER_OF, store.all_at - began)
    controller.close()
