"""What every rig has: controllers over one store, in virtual time, and a network from them to brokers of any kind."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import TypeVar

from ..admin import Admin
from ..model.durations import milliseconds
from ..model.values import Settings, TopicPartition
from ..simulated.clock import VirtualClock
from ..simulated.network import Network, Receiver
from ..simulated.timeline import Timeline
from .committed import CommittedTree
from .controller_mishaps import ControllerMishaps
from .node import Node, State
from .server import RecordingServer

T = TypeVar("T")


class NotInTime(AssertionError):
    """A condition did not become true before the deadline. The message has the present state, and the last events."""


class Controllers:
    """The controllers of a rig. `seed`: of all random choices. `polls_in_order`: otherwise chance decides the order of
    their passes."""

    brokers: Mapping[int, Receiver]
    mishaps: ControllerMishaps

    def __init__(
        self,
        seed: int,
        brokers: Mapping[int, Receiver],
        *,
        clock: VirtualClock,
        server: RecordingServer,
        settings: Settings,
        tick_ms: int,
    ) -> None:
        self.seed = seed
        self.chance = random.Random(seed)  # noqa: S311 - seeded randomness is the aim
        self.clock = clock
        self.tick_ms = tick_ms
        self.settings = settings
        self.timeline = Timeline(clock)
        self.server = server
        self.brokers = brokers
        self.network = Network(brokers, self.chance, self.timeline, lambda: self.server.revision)
        self.nodes: dict[int, Node] = {}
        self.committed = CommittedTree(self.timeline)
        self.polls_in_order = True

    # --- time

    def step(self) -> bool:
        """Let one tick pass. Returns whether anything happened in it that may lead to more."""
        raise NotImplementedError

    def describe(self) -> str:
        """The present state, to find the cause of a failure."""
        raise NotImplementedError

    def run(self, ms: int) -> None:
        """Let `ms` of virtual time pass."""
        for _ in range(max(1, ms // self.tick_ms)):
            self.step()

    def until(self, condition: Callable[[], object], *, timeout_s: float = 60.0, what: str = "") -> None:
        """Wait until `condition()` is true. Raises NotInTime after `timeout_s` of virtual time."""
        end_ms = self.clock.elapsed_ms + milliseconds(timeout_s, "timeout_s")
        while not condition():
            if self.clock.elapsed_ms >= end_ms:
                raise NotInTime(f"not within {timeout_s} s: {what or condition}\n{self.describe()}")
            self.step()

    def poll(self) -> bool:
        """The time advances by a tick, and each controller runs a pass. Returns whether one did anything."""
        self.clock.advance(self.tick_ms)
        self.server.tick()
        nodes = list(self.nodes.values())
        if not self.polls_in_order:
            self.chance.shuffle(nodes)
        moved = False
        for node in nodes:
            node.tick(self.clock.now_ms(), 5 * self.tick_ms)
            moved |= node.poll()
        return moved

    def is_running(self, marker: object) -> bool | None:
        """Whether the process of `marker` runs: False while it is paused, None once it is gone."""
        for node in self.nodes.values():
            if node.owns(marker):
                return node.state is State.UP
        return None

    # --- requests

    @property
    def active(self) -> Node | None:
        """The active node: the one with the highest epoch, if several consider themselves active."""
        return max((node for node in self.nodes.values() if node.is_active), key=_epoch_of, default=None)

    @property
    def live_brokers(self) -> tuple[int, ...]:
        """The brokers that are alive according to the active controller."""
        active = self.active
        return () if active is None or active.controller is None else active.controller.describe().live_brokers

    @property
    def admin(self) -> Admin:
        """The admin API of the active controller; time passes until there is one."""
        self.until(lambda: self.active is not None, what="a controller is active")
        assert self.active is not None
        assert self.active.controller is not None
        return self.active.controller.admin

    def result(self, future: Future[T], timeout_s: float = 30.0) -> T:
        """The result of a controller's future; time passes until it is complete. Raises what the future raises."""
        self.until(future.done, timeout_s=timeout_s, what="an answer of the controller")
        return future.result()

    def reassign(self, targets: Mapping[TopicPartition, Sequence[int] | None]) -> None:
        """Targets are accepted (None: cancelled); raises the first error. Time passes until the commit."""
        self.result(self.admin.alter_partition_reassignments(targets).all())


def _epoch_of(node: Node) -> int:
    controller = node.controller
    epoch = None if controller is None else controller.controller_epoch
    return -1 if epoch is None else epoch
