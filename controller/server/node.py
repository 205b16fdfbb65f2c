"""A controller node of a live cluster: as any host's, in threads and with the machine's clock."""

from __future__ import annotations

from collections.abc import Callable, Container
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any, Protocol, TypeAlias

import attrs

from controller.host import Controller
from controller.model.errors import ErrorCode
from controller.model.host import (
    Host,
    HostNotices,
    HostResponse,
    LeaderAndIsrRequest,
    StopReplicaRequest,
    UpdateMetadataRequest,
)
from controller.model.values import TARGETS_SINCE, Settings
from controller.server.store import LiveServer
from controller.simulated.network import Network
from controller.simulated.node import Asked, NodeHost
from controller.simulated.store import Client

Ordered: TypeAlias = LeaderAndIsrRequest | UpdateMetadataRequest | StopReplicaRequest


class Others(Host, Protocol):
    """What reaches brokers that are not simulated here."""

    def attach(self, controller: Controller) -> None:
        """The controller that calls it; before that one starts."""


@attrs.frozen(eq=False)
class _Process:
    store: Client
    controller: Controller


class LiveHost(NodeHost):
    """Callbacks reach the brokers in `ours` under the lock of the cluster, which is told that something happened; for
    all others there may be `others`. Brokers read settings from the store themselves, and hear of none by a controller,
    which may be in another process. `reads_for`: they read those that an order needs. `server`: that of the store."""

    config_changed = HostNotices.config_changed

    def __init__(  # noqa: PLR0917 - as NodeHost, and what a live one has besides
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

    def leader_and_isr(self, request: LeaderAndIsrRequest) -> HostResponse:
        """As NodeHost."""
        if self.others is not None and request.broker_id not in self._ours:
            return self.others.leader_and_isr(request)
        return self._locked(super().leader_and_isr, request)

    def update_metadata(self, request: UpdateMetadataRequest) -> HostResponse:
        """As NodeHost."""
        if self.others is not None and request.broker_id not in self._ours:
            return self.others.update_metadata(request)
        return self._locked(super().update_metadata, request)

    def stop_replica(self, request: StopReplicaRequest) -> HostResponse:
        """As NodeHost."""
        if self.others is not None and request.broker_id not in self._ours:
            return self.others.stop_replica(request)
        return self._locked(super().stop_replica, request)

    def obeyed(self, request: Ordered) -> HostResponse:
        """The answer of one of `ours` to an order of any process's controller. INVALID_REQUEST if no controller has had
        the epoch of the order yet: a broker that took it would refuse the orders of every real controller. Raises
        ConnectionError if the broker is down, or the store does not answer."""
        if request.controller_epoch > self._epoch_known:
            self._epoch_known = self._server.controller_epoch()
            if request.controller_epoch > self._epoch_known:
                return HostResponse(ErrorCode.INVALID_REQUEST)
        return self._locked(partial(self._network.call, request.controller_id), request)

    def _locked(self, call: Callable[[Any], HostResponse], request: Any) -> HostResponse:
        if isinstance(request, LeaderAndIsrRequest):
            self._reads_for(request)  # outside the lock: it waits for the store
        with self._lock:
            response = call(request)
        self._woken()
        return response


@attrs.define(eq=False)
class LiveNode:
    """A node whose controller runs in threads. `host`: what the controller calls. `seed`: of topic ids and placements;
    `journal`: makes its journal by its id. `elsewhere`: where brokers send requests while this node stands by: the
    active controller of another process."""

    node_id: int
    server: LiveServer
    host: LiveHost
    settings: Settings
    seed: object = None
    journal: Callable[[int], Any] | None = None
    elsewhere: Asked | None = None
    process: _Process | None = None
    starts: int = 0

    @property
    def controller(self) -> Controller | None:
        """The controller that runs here; None while the node is down."""
        return None if self.process is None else self.process.controller

    @property
    def is_up(self) -> bool:
        """Whether its controller runs."""
        return self.process is not None

    @property
    def is_active(self) -> bool:
        """Whether its controller is the active one."""
        return self.process is not None and self.process.controller.is_active

    @property
    def asked(self) -> Asked | None:
        """The controller of this process where it is the active one, or knows of no other process."""
        return self.controller if self.elsewhere is None or self.is_active else self.elsewhere

    @property
    def is_told(self) -> bool:
        """Brokers report to it if it is active, or if the active controller is in another process."""
        return self.elsewhere is not None or self.is_active

    def speaking(self) -> AbstractContextManager[None]:
        """Nothing records who sent a commit."""
        return nullcontext()

    def start(self) -> None:
        """A new process: its controller runs until `stop`."""
        self.starts += 1
        store = self.server.client()
        journal = {} if self.journal is None else {"journal": self.journal(self.node_id)}
        seed = None if self.seed is None else f"{self.seed}/{self.node_id}/{self.starts}"
        controller = Controller(store, self.node_id, self.host, settings=self.settings, seed=seed, **journal)
        self.process = _Process(store, controller)
        if self.host.others is not None:
            self.host.others.attach(controller)
        controller.start()

    def stop(self) -> None:
        """The controller hands over and ends, and so does its session."""
        process, self.process = self.process, None
        if process is not None:
            process.controller.close()
            process.store.close()
