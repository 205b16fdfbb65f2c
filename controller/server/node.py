"""A controller node of a live cluster: the same as in any host, in threads and with the machine's clock."""

from __future__ import annotations

from collections.abc import Callable, Container
from contextlib import AbstractContextManager, ExitStack, closing, nullcontext
from typing import Any, Protocol

import attrs

from ..host import Controller
from ..model.errors import ErrorCode
from ..model.host import Host, HostNotices, HostResponse, LeaderAndIsrRequest
from ..model.values import TARGETS_SINCE, Settings
from ..simulated.network import Network, Request, delivered
from ..simulated.node import Asked, NodeHost
from ..simulated.store import Client
from .store import LiveServer


class Others(Host, Protocol):
    """The host for brokers that are not simulated here."""

    def attach(self, controller: Controller) -> None:
        """Called with the controller that will use this host, before it starts."""


@attrs.frozen(eq=False)
class Process:
    """A controller and its session."""

    store: Client
    controller: Controller

    def close(self) -> None:
        """The controller resigns and ends, and so does its session."""
        self.controller.close()
        self.store.close()


class LiveHost(NodeHost):
    """Callbacks reach the brokers in `ours` under the lock of the cluster, and then wake its thread; `others`, if any,
    is the host of all other brokers. Configs are not delivered here: brokers read them from the store, because the
    controller may be in another process. `reads_for`: reads those for a request. `server`: that of the store."""

    config_changed = HostNotices.config_changed

    def __init__(  # noqa: PLR0917 - the arguments of NodeHost, and those of a live one
        self,
        controller_id: int,
        network: Network,
        lock: AbstractContextManager[object],
        woken: Callable[[], None],
        ours: Container[int],
        server: LiveServer,
        reads_for: Callable[[LeaderAndIsrRequest], None],
        others: Others | None,
    ) -> None:
        super().__init__(controller_id, network, TARGETS_SINCE)
        self._server = server
        self._reads_for = reads_for
        self._epoch_known = 0
        self._lock = lock
        self._woken = woken
        self._ours = ours
        self.others = others

    def deliver(self, request: Request) -> HostResponse:
        if self.others is not None and request.broker_id not in self._ours:
            return delivered(self.others, request)
        return self._locked(self._controller_id, request)

    def obeyed(self, request: Request) -> HostResponse:
        """The answer of one of `ours` to a request of any process's controller. INVALID_REQUEST if the epoch of the
        request does not exist yet: a broker that took it would refuse the requests of every real controller. Raises
        ConnectionError if the broker is down, or the store does not answer."""
        if request.controller_epoch > self._epoch_known:
            self._epoch_known = self._server.controller_epoch()
            if request.controller_epoch > self._epoch_known:
                return HostResponse(ErrorCode.INVALID_REQUEST)
        return self._locked(request.controller_id, request)

    def _locked(self, controller_id: int, request: Request) -> HostResponse:
        if isinstance(request, LeaderAndIsrRequest):
            self._reads_for(request)  # outside the lock: it waits for the store
        with self._lock:
            response = self._network.call(controller_id, request)
        self._woken()
        return response


@attrs.define(eq=False)
class LiveNode:
    """A node whose controller runs in threads. `host`: called by the controller. `seed`: of topic ids and placements;
    `journal`: makes its journal by its id. `elsewhere`: the active controller of another process, to which brokers send
    requests while this node is on standby."""

    node_id: int
    server: LiveServer
    host: LiveHost
    settings: Settings
    seed: object = None
    journal: Callable[[int], Any] | None = None
    elsewhere: Asked | None = None
    process: Process | None = None
    starts: int = 0

    @property
    def controller(self) -> Controller | None:
        """The controller of this node; None while the node is down."""
        return None if self.process is None else self.process.controller

    @property
    def is_up(self) -> bool:
        return self.process is not None

    @property
    def is_active(self) -> bool:
        return self.process is not None and self.process.controller.is_active

    @property
    def asked(self) -> Asked | None:
        """The target of brokers' requests: this controller if it is active or there is no other process."""
        return self.controller if self.elsewhere is None or self.is_active else self.elsewhere

    @property
    def is_told(self) -> bool:
        """Whether brokers report to this node: it is active, or the active controller is in another process."""
        return self.elsewhere is not None or self.is_active

    def speaking(self) -> AbstractContextManager[None]:
        """Does nothing here: a live cluster does not record the senders of commits."""
        return nullcontext()

    def start(self) -> None:
        """A new process: its controller runs until `stop`."""
        self.starts += 1
        seed = None if self.seed is None else f"{self.seed}/{self.node_id}/{self.starts}"
        with ExitStack() as opened:
            store = opened.enter_context(closing(self.server.client()))
            journal = {} if self.journal is None else {"journal": self.journal(self.node_id)}
            controller = Controller(store, self.node_id, self.host, settings=self.settings, seed=seed, **journal)
            opened.pop_all()
        self.process = Process(store, controller)
        if self.host.others is not None:
            self.host.others.attach(controller)
        controller.start()

    def stop(self) -> None:
        """The controller resigns and ends, and so does its session."""
        process, self.process = self.process, None
        if process is not None:
            process.close()
