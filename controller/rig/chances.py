"""What every seeded run has: one source of chance, and an agenda of what comes due in virtual time."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any, TypeVar

from ..admin import Admin
from .controller_mishaps import ControllerMishaps
from .controllers import Controllers
from .node import Node

T = TypeVar("T")


class Chances:
    """`agenda`: what comes due at a time, mostly the end of a failure. `asked`: every request with the process that got
    it, since it must be answered as long as that lives."""

    def __init__(self, rig: Controllers) -> None:
        self.rig = rig
        self.mishaps = ControllerMishaps(rig)
        self.agenda: list[tuple[int, int, Callable[[], object]]] = []
        self.asked: list[tuple[str, Node, object, Future[Any]]] = []
        self._count = 0

    # --- chance

    def pick(self, values: Sequence[T]) -> T:
        return self.rig.chance.choice(values)

    def between(self, low: int, high: int) -> int:
        return self.rig.chance.randint(low, high)

    def happens(self, likelihood: float) -> bool:
        return self.rig.chance.random() < likelihood

    def brokers(self, count: int) -> list[int]:
        """So many of the brokers, or all, dead or alive, in any order."""
        ids = list(self.rig.brokers)
        return self.rig.chance.sample(ids, min(count, len(ids)))

    def choose(self, table: Sequence[tuple[int, T]]) -> T:
        return self.rig.chance.choices([value for _, value in table], [weight for weight, _ in table])[0]

    # --- time

    def later(self, after_ms: int, do: Callable[[], object]) -> None:
        """`do` is called in so much virtual time."""
        self._count += 1
        heapq.heappush(self.agenda, (self.rig.clock.elapsed_ms + after_ms, self._count, do))

    def due(self) -> None:
        while self.agenda and self.agenda[0][0] <= self.rig.clock.elapsed_ms:
            heapq.heappop(self.agenda)[2]()

    # --- requests

    def ask(self, what: str, call: Callable[[Admin], Future[Any]]) -> str:
        """Ask a controller that considers itself the leader; there may be two. Returns what happened in words."""
        active = [node for node in self.rig.nodes.values() if node.is_active]
        node = self.pick(active) if active else None
        if node is None or node.controller is None:
            return f"{what}: nobody to ask"
        with node.speaking():
            future = call(node.controller.admin)
        self.asked.append((what, node, node.process, future))
        return f"asks {node.node_id}: {what}"

    def unanswered(self) -> list[str]:
        """Requests that were not answered, though the process that was asked lives."""
        return [
            f"{node.node_id}: {what}"
            for what, node, process, future in self.asked
            if node.process is process and not future.done()
        ]
