"""Optional methods of a host: told when something happens, missed by nobody who has none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from controller import Controller
from stores import MemoryStore
from stores.memory import MemoryServer
from tests.runtime.world import Brokers, Cluster

CONFIG = "/config/topics/t"


class Told(Brokers):
    """A host with both."""

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


def test_changed_settings_are_told_with_all_that_the_topic_has() -> None:
    """Once, and not where the key was written with what it held."""
    cluster = cluster_with(Told())
    told(cluster)
    value = {"version": 1, "config": {"retention.ms": "5"}}
    cluster.put(CONFIG, value)
    cluster.run()
    assert told(cluster) == [("topics", "t", {"retention.ms": "5"})]
    cluster.put(CONFIG, value)
    cluster.run()
    assert told(cluster) == []
    cluster.delete(CONFIG)
    cluster.run()
    assert told(cluster) == [("topics", "t", {})]


def test_who_is_active_is_told_to_the_active_one_and_to_stand_bys() -> None:
    """With the epoch, once per change."""
    cluster = cluster_with(Told())
    assert told(cluster) == [(1, 1)]
    second = Told()
    cluster.another(2, host=second)
    cluster.wait(30_000, 1_000)
    assert second.notices == [(1, 1)]
    cluster.controllers.pop(0).close()
    cluster.run()
    assert second.notices == [(1, 1), (2, 2)]


def test_a_notice_that_raises_hurts_nobody_and_the_next_one_comes() -> None:
    """The topic's settings are taken in all the same."""

    class Raising(Told):
        def config_changed(self, entity_type: str, name: str, configs: Mapping[str, str]) -> None:
            super().config_changed(entity_type, name, configs)
            raise RuntimeError("no such luck")

    cluster = cluster_with(Raising())
    told(cluster)
    for value in ("5", "6"):
        cluster.put(CONFIG, {"version": 1, "config": {"retention.ms": value}})
        cluster.run()
    assert told(cluster) == [("topics", "t", {"retention.ms": "5"}), ("topics", "t", {"retention.ms": "6"})]
    assert cluster.controller.is_active
    assert cluster.findings() == {}


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


def test_methods_are_looked_up_once() -> None:
    """What is put in their place later is not called."""
    host = Told()
    cluster = cluster_with(host)
    told(cluster)
    host.config_changed = None  # type: ignore[assignment,method-assign]
    cluster.put(CONFIG, {"version": 1, "config": {"retention.ms": "5"}})
    cluster.run()
    assert told(cluster) == [("topics", "t", {"retention.ms": "5"})]


@pytest.mark.parametrize("name", ["config_changed", "controller_changed"])
def test_a_method_that_cannot_be_called_is_refused_when_the_controller_is_made(name: str) -> None:
    """TypeError, with its name."""
    host = Brokers()
    setattr(host, name, 5)
    with pytest.raises(TypeError, match=name):
        Controller(MemoryStore(MemoryServer()), 1, host)
