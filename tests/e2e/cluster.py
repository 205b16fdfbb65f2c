"""Two controllers on one store: one in a process of its own, which leads and is killed, and one beside the brokers.

The brokers are those of `controller.rig.live`, with records that outlive any controller. Clients call the gateway
beside them. It passes on what is for the controller while the other process leads, and answers itself from then on.
"""

from __future__ import annotations

import threading
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final, Self, cast

from controller import HostResponse
from controller.host import Controller
from controller.rig.live import LiveCluster, LiveServer
from controller.wire import Gateway, Peers
from controller.wire.cluster_id import cluster_id
from controller.wire.data import with_logs
from stores import open_store
from tests.real.messages import Call, Return
from tests.real.remote import RemoteNode, Seat, speaking
from tests.real.served import url
from tests.wire.served import RACKS, until

OTHER: Final = 102
SESSION_S: Final = 8.0  # of the controller that is killed: so long nobody leads
BROKERS_SESSION_S: Final = 30.0
_LISTEN_S: Final = 0.02


class _Other(RemoteNode):
    def stop(self) -> None:
        """As of a live node: it ends."""
        self.kill()


class TwoControllers:
    """`with TwoControllers(place, folder) as two:` controller 102 leads from its own process, 101 stands by here."""

    def __init__(self, place: str, folder: Path) -> None:
        self._place = place
        self._folder = folder
        self._stack = ExitStack()
        self._is_over = threading.Event()

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            self._open(stack)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _open(self, stack: ExitStack) -> None:
        here = url(self._place, BROKERS_SESSION_S)
        self.cluster = LiveCluster(LiveServer(lambda: open_store(here)), RACKS)
        stack.callback(self.cluster.close)
        seat = Seat(url(self._place, SESSION_S))
        self.other = _Other(OTHER, seat, self._folder / "other.log", "tests.e2e.controller_process")
        self.other.start()
        stack.callback(self.kill_other)
        self._hearing = threading.Thread(target=self._hear, name="wire")
        self._hearing.start()
        until(lambda: self.other.is_active or not self._hearing.is_alive())
        assert self.other.is_active, self.other.log_tail()
        self.cluster.start()
        with self.cluster.lock:
            cast("dict[int, Any]", self.cluster.nodes)[OTHER] = self.other
        finding = open_store(here)
        stack.callback(finding.close)
        apis = with_logs(self.cluster.logs)
        self.gateway = Gateway(self.here, cluster_id=cluster_id(finding), apis=apis, peers=Peers(store=finding))
        address = stack.enter_context(self.gateway).address
        self.bootstrap = f"{address.host}:{address.port}"

    @property
    def here(self) -> Controller:
        """The controller beside the brokers."""
        controller = self.cluster.nodes[101].controller
        assert controller is not None
        return controller

    def kill_other(self) -> None:
        """Kill -9. Idempotent."""
        if self._is_over.is_set():
            return
        self._is_over.set()
        self._hearing.join()
        with self.cluster.lock:
            self.other.kill()

    # --- what the other controller says to the brokers

    def _hear(self) -> None:
        while not self._is_over.is_set():
            if speaking([self.other], _LISTEN_S):
                with self.cluster.lock:
                    for call in self.other.hear():
                        self.other.answer(Return(call.number, self._called(call)))
                    for notice in self.other.notices:
                        getattr(self.cluster.network, notice.name)(*notice.arguments)
                    self.other.notices.clear()

    def _called(self, call: Call) -> HostResponse:
        return self.cluster.network.call(OTHER, call.request)
