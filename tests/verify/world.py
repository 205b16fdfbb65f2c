"""What an exploration acts on: a rig, its source of chance, an agenda of what is to be undone, and who is asked."""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any, TypeVar

import attrs

from controller.admin import Admin
from controller.model.values import Partition
from controller.rig.node import Node
from controller.rig.rig import Rig

T = TypeVar("T")


@attrs.define(eq=False)
class World:
    """`agenda`: what comes due at a time, mostly the end of a mishap. `asked`: every request with the process that was
    asked, since it must be answered as long as that lives. `trouble`, `work`: how likely a mishap and a request are,
    per step. `allows_unclean`: a client may allow unclean election for all topics."""

    rig: Rig
    trouble: float = 0.06
    work: float = 0.15
    allows_unclean: bool = False
    agenda: list[tuple[int, int, Callable[[], object]]] = attrs.field(factory=list)
    throttles: random.Random | None = None  # what of throttles is left to chance, where a seed has any
    asked: list[tuple[str, Node, object, Future[Any]]] = attrs.field(factory=list)
    topics_made: int = 0
    keys_put: int = 0
    _count: int = 0

    # --- chance

    def pick(self, values: Sequence[T]) -> T:
        """One of `values`."""
        return self.rig.chance.choice(values)

    def between(self, low: int, high: int) -> int:
        """A number from `low` to `high`."""
        return self.rig.chance.randint(low, high)

    def happens(self, likelihood: float) -> bool:
        """Whether what is so likely happens."""
        return self.rig.chance.random() < likelihood

    def brokers(self, count: int) -> list[int]:
        """So many of the brokers, or all, dead or alive, in any order."""
        ids = list(self.rig.brokers)
        return self.rig.chance.sample(ids, min(count, len(ids)))

    # --- what there is

    def partitions(self, *, moving: bool | None = None) -> list[Partition]:
        """The partitions, those that move, or those that do not."""
        found = self.rig.committed.partitions.values()
        return [p for p in found if moving is None or (p.move is not None) is moving]

    def topics(self) -> list[str]:
        """The topics by name."""
        return sorted({tp.topic for tp in self.rig.committed.partitions})

    # --- time

    def later(self, after_ms: int, do: Callable[[], object]) -> None:
        """`do` is called in so much virtual time."""
        self._count += 1
        heapq.heappush(self.agenda, (self.rig.clock.elapsed_ms + after_ms, self._count, do))

    def due(self) -> None:
        """Call what came due."""
        while self.agenda and self.agenda[0][0] <= self.rig.clock.elapsed_ms:
            heapq.heappop(self.agenda)[2]()

    # --- requests

    def node_to_ask(self) -> Node | None:
        """A controller that believes to lead; there may be two."""
        leading = [node for node in self.rig.nodes.values() if node.is_active]
        return self.pick(leading) if leading else None

    def ask(self, what: str, call: Callable[[Admin], Future[Any]]) -> str:
        """Ask the active controller; what was asked, or that there is none."""
        node = self.node_to_ask()
        if node is None or node.controller is None:
            return f"{what}: nobody to ask"
        with self.rig.server.speaking(node.name):
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
