"""`kedge serve --migrate-to` while a store cannot be opened: each step is tried again, and nothing is opened twice."""

from __future__ import annotations

from contextlib import ExitStack, closing
from functools import partial
from typing import Any, Final

import attrs
import pytest

from kedge.controller.cli.serve import moving, sharing
from kedge.controller.cli.serve.moving import Moving
from kedge.controller.cli.serve.options import Options
from kedge.controller.server import LiveCluster, LiveServer
from kedge.controller.wire import Gateway, Peers
from kedge.stores import MemoryStore
from kedge.stores.base import MetadataStore, Unavailable
from kedge.stores.memory import MemoryServer
from tests.kit.waiting import DEADLINE_S, until
from tests.wire.served import brokers_at

HERE: Final = "zookeeper://here"
THERE: Final = "etcd://there"
OPENED: Final = 8
"""Clients that a move opens."""
OPEN_AT_THE_END: Final = 8
"""Two of the former store and six of the move: all but the two by which the migration copied."""


class Stores:
    """Two stores by their URL. `opened`: clients that are open. The call `fails_at` of `open` fails."""

    def __init__(self) -> None:
        self._servers = {HERE: MemoryServer(), THERE: MemoryServer()}
        self.opened: list[MetadataStore] = []
        self.calls = 0
        self.fails_at: int | None = None

    def open(self, url: str) -> MetadataStore:
        self.calls += 1
        if self.calls == self.fails_at:
            raise Unavailable("no connection")
        store = Counted(self._servers[url], self.opened)
        self.opened.append(store)
        return store


class Counted(MemoryStore):
    """Leaves `opened` when it is closed."""

    def __init__(self, server: MemoryServer, opened: list[MetadataStore]) -> None:
        super().__init__(server)
        self._opened = opened

    def close(self) -> None:
        super().close()
        if self in self._opened:
            self._opened.remove(self)


def options() -> Options:
    nothing: dict[str, Any] = {field.name: None for field in attrs.fields(Options)}
    return Options(**{**nothing, "url": HERE, "migrate_to": THERE, "node_id": 101})


@pytest.mark.slow
@pytest.mark.parametrize("fails_at", range(1, OPENED + 1))
def test_cluster_moves_whichever_client_could_not_be_opened(fails_at: int, monkeypatch: pytest.MonkeyPatch) -> None:
    stores, moved = Stores(), list[str]()
    for module in (moving, sharing):
        monkeypatch.setattr(module, "open_store", stores.open)
    for name in ("_AGAIN_S", "_LOOK_S"):
        monkeypatch.setattr(moving, name, 0.01)
    with ExitStack() as stack:
        kept = stack.enter_context(ExitStack())
        cluster = stack.enter_context(LiveCluster(LiveServer(partial(stores.open, HERE)), {1: "a"}))
        cluster.until_ready(DEADLINE_S)
        # So that a request of this controller is not taken for the first one over the other store: in two stores that
        # are as young as these, a broker may have equal epochs.
        until(lambda: cluster.brokers[1].controller_epoch > 0, "the broker obeys the controller")
        session = stack.enter_context(closing(stores.open(HERE)))
        gateway = stack.enter_context(Gateway(cluster.controller, peers=Peers(store=session)))
        stores.fails_at = stores.calls + fails_at
        work = Moving(options(), cluster, gateway, kept=kept, note=lambda _: None, done=moved.append)
        stack.enter_context(closing(work))
        until(lambda: moved == [THERE], "the cluster is there")
        until(lambda: cluster.controller.is_active and brokers_at(gateway.address) == {1}, "clients are served there")
        assert stores.calls > stores.fails_at
        until(lambda: len(stores.opened) == OPEN_AT_THE_END, "what is not needed any more is closed")
    assert stores.opened == []
