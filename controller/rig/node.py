"""A controller node of the rig: the process, its store, its clock, and its failures.

* A killed node closes nothing: its session runs out by the server's clock, its futures never complete.
* A node that is paused beyond the session time comes back as a zombie: it continues where it was, and gets the events
  of its session some steps later (as a client library may deliver them late), so that only the fences stop it.
* A restarted node is another process under the same id, with its own session; late commits of the former one may still
  arrive.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import attrs

from ...stores.base import Depth, Session, StoreEvent, Subscription
from ...stores.faults import FaultStore
from ..admin import Hooks
from ..host import Controller
from ..model.values import TARGETS_SINCE, Settings, TopicPartition
from ..runtime.executors import Call
from ..runtime.notices import LANE
from ..simulated.clock import NodeClock
from ..simulated.network import Network
from ..simulated.node import Asked, NodeHost
from ..simulated.store import Client
from .operators import Operators
from .server import RecordingServer
from .watched import WatchedAdmin


class NodeStore(FaultStore):
    """A FaultStore whose session events can be held back: while `is_deaf` it delivers none, and shows the session that
    it had."""

    is_deaf = False
    _believed: Session | None = None

    @property
    def session(self) -> Session:
        """The inner store's session, as far as it is known."""
        if self.is_deaf and self._believed is not None:
            return self._believed
        self._believed = super().session
        return self._believed

    def subscribe(self, prefix: str, depth: Depth, cursor: int | None = None) -> Any:
        """As FaultStore; without events while the node is deaf."""
        return _Muffled(super().subscribe(prefix, depth, cursor), self)


class _Muffled(Subscription):
    def __init__(self, inner: Subscription, node: NodeStore) -> None:
        self._inner = inner
        self._node = node

    def add(self, prefix: str, depth: Depth, cursor: int | None = None) -> None:
        self._inner.add(prefix, depth, cursor)

    def remove(self, prefix: str) -> None:
        self._inner.remove(prefix)

    def poll(self, timeout_s: float) -> StoreEvent | None:
        return None if self._node.is_deaf else self._inner.poll(timeout_s)

    def close(self) -> None:
        self._inner.close()


class NodeExecutor:
    """Passes rounds of one process to the network. Notices have no broker: they are delivered at once."""

    def __init__(self, process: object, controller_id: int, network: Network) -> None:
        self._process = process
        self._controller_id = controller_id
        self._network = network

    def submit(self, broker: int, call: Call) -> None:
        """Send the round; it runs at a later step."""
        if broker == LANE:
            call()
            return
        self._network.submit(self._process, self._controller_id, broker, call)

    def close(self, timeout_s: float) -> None:
        """Does nothing: there is no thread."""


class State(enum.Enum):
    UP = "up"
    PAUSED = "paused"
    DOWN = "down"


@attrs.define(eq=False)
class Process:
    """One life of a node: its parts, which are gone when it is killed."""

    store: NodeStore
    inner: Client
    controller: Controller


@attrs.define(eq=False)
class Node:
    """A controller node. `process` None: it is down."""

    node_id: int
    clock: NodeClock
    server: RecordingServer
    network: Network
    settings: Settings
    seed: object
    policy: Callable[[TopicPartition, tuple[int, ...]], str | None]
    journal: Callable[[int], Any] | None = None
    leader_and_isr_version: int = TARGETS_SINCE
    operators: Operators = attrs.field(factory=Operators)
    state: State = State.DOWN
    process: Process | None = None
    starts: int = 0
    resume_at_ms: int | None = None
    expires_at_ms: int | None = None
    deaf_until_ms: int | None = None
    buried: list[NodeStore] = attrs.field(factory=list)
    _marker: object = None

    @property
    def name(self) -> str:
        return f"controller {self.node_id}"

    @property
    def controller(self) -> Controller | None:
        """The controller of this node, None while the node is down."""
        return None if self.process is None else self.process.controller

    @property
    def asked(self) -> Asked | None:
        """The target of brokers' requests at this node; None while it is down."""
        return self.controller

    @property
    def is_up(self) -> bool:
        return self.state is State.UP

    def speaking(self) -> AbstractContextManager[None]:
        """Commits in this block are attributed to this node."""
        return self.server.speaking(self.name)

    @property
    def is_told(self) -> bool:
        """Whether brokers report the state of their logs to it."""
        return self.is_active

    @property
    def is_active(self) -> bool:
        """Whether it runs and considers itself the leader."""
        return self.state is State.UP and self.process is not None and self.process.controller.is_active

    def start(self) -> None:
        self.starts += 1
        seed = f"{self.seed}/{self.node_id}/{self.starts}"
        with self.speaking():
            inner = self.server.client()
            store = NodeStore(inner, seed=self.starts, sleep=lambda _: None)
            marker = object()
            controller = Controller(
                store,
                self.node_id,
                NodeHost(self.node_id, self.network, self.leader_and_isr_version),
                settings=self.settings,
                clock=self.clock,
                seed=seed,
                executor=NodeExecutor(marker, self.node_id, self.network),
                hooks=Hooks(alter_policy=self.policy),
                **({} if self.journal is None else {"journal": self.journal(self.node_id)}),
            )
            controller.admin = WatchedAdmin(controller.admin, self.operators, self.network.brokers)
        self.process, self.state, self._marker = Process(store, inner, controller), State.UP, marker
        self.resume_at_ms = self.expires_at_ms = self.deaf_until_ms = None

    def owns(self, marker: object) -> bool:
        """Whether a round with this marker was sent by the present process."""
        return self.process is not None and self._marker is marker

    def kill(self) -> None:
        """The process ends without closing anything."""
        if self.process is not None:
            self.process.inner.disconnect()
            self.buried.append(self.process.store)
        self.process, self.state = None, State.DOWN

    def pause(self, now_ms: int, session_ms: int, for_ms: int | None) -> None:
        """The process is paused; the server ends its session when its time is over."""
        self.state = State.PAUSED
        self.expires_at_ms = now_ms + session_ms
        self.resume_at_ms = None if for_ms is None else now_ms + for_ms

    def resume(self, now_ms: int, deaf_ms: int) -> None:
        """It continues where it was, and gets events of its session only after `deaf_ms`."""
        assert self.process is not None
        self.state, self.expires_at_ms, self.resume_at_ms = State.UP, None, None
        self.process.store.is_deaf = deaf_ms > 0
        self.deaf_until_ms = now_ms + deaf_ms

    def hear(self) -> None:
        """Deliver its session's events from now on, and those that were held back."""
        self.deaf_until_ms = None
        if self.process is not None:
            self.process.store.is_deaf = False

    def tick(self, now_ms: int, deaf_ms: int) -> None:
        """Apply what is due for a paused or deaf node."""
        process = self.process
        if process is None:
            return
        if self.expires_at_ms is not None and now_ms >= self.expires_at_ms:
            self.expires_at_ms = None
            self.server.expire(process.inner.session.session_id)
        if self.resume_at_ms is not None and now_ms >= self.resume_at_ms:
            self.resume(now_ms, deaf_ms)
        if self.deaf_until_ms is not None and now_ms >= self.deaf_until_ms:
            self.hear()

    def poll(self) -> bool:
        """One pass of its loop; returns whether anything was done."""
        if self.state is not State.UP or self.process is None:
            return False
        with self.speaking():
            return self.process.controller.poll_once()

    def deliver_late(self) -> int:
        """Deliver the late commits of this and former processes to the store; returns their number."""
        delivered = 0
        with self.speaking():
            for store in [*self.buried, *([self.process.store] if self.process else [])]:
                delivered += len(store.deliver_late())
        return delivered
