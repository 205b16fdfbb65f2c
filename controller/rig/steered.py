"""What failures of controllers act on: controllers over one store, and their connections to brokers of any kind."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from ..simulated.clock import VirtualClock
from ..simulated.network import Network
from ..simulated.timeline import Timeline
from .node import Node
from .server import RecordingServer


class Steered(Protocol):
    """A cluster in virtual time. `tick_ms`: the length of a step."""

    @property
    def tick_ms(self) -> int: ...

    @property
    def clock(self) -> VirtualClock: ...

    @property
    def timeline(self) -> Timeline: ...

    @property
    def server(self) -> RecordingServer: ...

    @property
    def network(self) -> Network: ...

    @property
    def nodes(self) -> Mapping[int, Node]: ...

    @property
    def brokers(self) -> Mapping[int, object]: ...

    @property
    def active(self) -> Node | None:
        """The active node; None while there is none."""
        ...


def leading(nodes: Iterable[Node]) -> Node | None:
    """The active node: the one with the highest epoch, if several consider themselves active."""
    return max((node for node in nodes if node.is_active), key=_epoch_of, default=None)


def _epoch_of(node: Node) -> int:
    controller = node.controller
    epoch = None if controller is None else controller.controller_epoch
    return -1 if epoch is None else epoch
