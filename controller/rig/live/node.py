"""A controller node of a live cluster: as any host's, in threads and with the machine's clock."""

from __future__ import annotations

from collections.abc import Callable, Container
from contextlib import AbstractContextManager
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
from controller.model.values import TARGETS_SINCE
from controller.rig.live.server import LiveServer
from controller.rig.network import Network
from controller.rig.node import Asked, Node, NodeHost, NodeStore, Process, State

Ordered: TypeAlias = LeaderAndIsrRequest | UpdateMetadataRequest | StopReplicaRequest


class Others(Host, Protocol):
    """What reaches brokers that are not simulated here."""

    def attach(self, controller: Controller) -> None:
        """The controller that calls it; before that one starts."""


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
class LiveNode(Node):
    """`host`: what its controller calls. `elsewhere`: whom brokers ask while this one stands by: the active controller
    of another process."""

    host: LiveHost = attrs.field(kw_only=True)
    elsewhere: Asked | None = None

    @property
    def asked(self) -> Asked | None:
        """The controller of this process where it is the active one, or knows of no other process."""
        return self.controller if self.elsewhere is None or self.is_active else self.elsewhere

    @property
    def is_told(self) -> bool:
        """As Node; somebody is active in another process, where this one is not."""
        return self.elsewhere is not None or self.is_active

    def start(self) -> None:
        """A new process: its controller runs until `stop`."""
        self.starts += 1
        inner = self.server.client()
        store = NodeStore(inner)
        journal = {} if self.journal is None else {"journal": self.journal(self.node_id)}
        seed = None if self.seed is None else f"{self.seed}/{self.node_id}/{self.starts}"
        controller = Controller(store, self.node_id, self.host, settings=self.settings, seed=seed, **journal)
        self.process, self.state = Process(store, inner, controller), State.UP
        if self.host.others is not None:
            self.host.others.attach(controller)
        controller.start()

    def stop(self) -> None:
        """It hands over and ends, and so does its session."""
        process, self.process, self.state = self.process, None, State.DOWN
        if process is not None:
            process.controller.close()
            process.store.close()

    def poll(self) -> bool:
        """Its threads do that."""
        return False
