"""Optional methods of a host: called when something happens, and not required."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from kedge import Controller, HostNotices
from kedge.stores import MemoryStore
from kedge.stores.memory import MemoryServer
from tests.runtime.world import Brokers, Cluster

CONFIG = "/config/topics/t"


class Told(Brokers, HostNotices):
    """A host with two of three."""

    def __init__(self) -> None:
        super().__init__()
        self.notices: list[tuple[Any, ...]] = []

    def config_changed(self, entity_type: str, name: str, configs: Mapping[str, str]) -> None:
        self.notices.append((entity_type, name, dict(configs)))

    def controller_changed(self, controller_id: int, epoch: int) -> None:
        self.notices.append((controller_id, epoch))


def told(cluster: Cluster) -> list[tuple[Any, ...]]:
    assert isinstance(cluster.host, Told)
    found, cluster.host.notices = cluster.host.notices, []
    return found


def cluster_with(host: Brokers) -> Cluster:
    cluster = Cluster(start=False)
    cluster.host = host
    cluster.another(1)
    cluster.join(1, 2)
    cluster.create("t", (1, 2))
    return cluster


def test_active_controller_is_known_to_itself_and_to_stand_bys() -> None:
    cluster = cluster_with(Told())
    assert leaders(told(cluster)) == [(1, 1)]
    second = Told()
    cluster.another(2, host=second)
    cluster.wait(30_000, 1_000)
    assert second.notices == [(1, 1)]
    cluster.controllers.pop(0).close()
    cluster.run()
    assert leaders(second.notices) == [(1, 1), (2, 2)]


def leaders(notices: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return [notice for notice in notices if len(notice) == 2]


def test_a_failed_notice_is_logged_without_the_configs(caplog: pytest.LogCaptureFixture) -> None:
    """A broker's configs may have passwords. The notice affects no other one, and the next one comes."""

    class Fails(Told):
        def config_changed(self, entity_type: str, name: str, configs: Mapping[str, str]) -> None:
            super().config_changed(entity_type, name, configs)
            raise RuntimeError("no")

    cluster = cluster_with(Fails())
    told(cluster)
    for password in ("hunter2", "hunter3"):
        cluster.put("/config/brokers/2", {"version": 1, "config": {"ssl.key.password": password}})
        cluster.run()
    assert "config_changed of the host failed for ['brokers', '2']" in caplog.text
    assert "hunter" not in caplog.text
    assert [configs["ssl.key.password"] for _, _, configs in told(cluster)] == ["hunter2", "hunter3"]
    assert cluster.controller.is_active


def test_a_notice_may_call_the_controller() -> None:
    """It comes at the end of a pass, outside of everything."""

    class Asking(Told):
        controller: Controller

        def config_changed(self, entity_type: str, name: str, configs: Mapping[str, str]) -> None:
            super().config_changed(entity_type, name, configs)
            self.future = self.controller.query(lambda view: dict(view.topic_config(name)))

    host = Asking()
    cluster = cluster_with(host)
    host.controller = cluster.controller
    cluster.put(CONFIG, {"version": 1, "config": {"retention.ms": "5"}})
    cluster.run()
    assert host.future.result(0) == {"retention.ms": "5"}


class Untyped(Brokers):
    """Takes a notice without inheriting from HostNotices."""

    def __init__(self) -> None:
        super().__init__()
        self.heard: list[tuple[int, int]] = []

    def controller_changed(self, controller_id: int, epoch: int) -> None:
        self.heard.append((controller_id, epoch))


def test_a_host_that_inherits_from_nothing_gets_the_notices_that_it_has_methods_for() -> None:
    host = Untyped()
    cluster_with(host)
    assert host.heard == [(1, 1)]


async def _coroutine(*_: object) -> None:
    """What a host that is written for asyncio might bring."""


@pytest.mark.parametrize("method", [5, _coroutine])
@pytest.mark.parametrize("name", ["config_changed", "controller_changed", "partition_purged"])
def test_a_method_that_cannot_be_called_is_refused_when_the_controller_is_made(name: str, method: object) -> None:
    """TypeError, with its name; a coroutine would never be awaited."""
    host = Brokers()
    setattr(host, name, method)
    with pytest.raises(TypeError, match=name):
        Controller(MemoryStore(MemoryServer()), 1, host)
