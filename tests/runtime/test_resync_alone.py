"""A store that lost its events says Resync and no more: what changed below each watched prefix is found."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kedge import LeaderAndIsrRequest
from kedge.controller.codec import keys
from kedge.stores.faults import DropEvent, FailBefore, FaultStore, Rule
from kedge.stores.recipes import LEADER_KEY
from tests.runtime.world import Cluster, actives, cluster_of_three

UNCLEAN = {"unclean.leader.election.enable": "true"}
NAMED = {"version": 1, "partitions": [{"topic": "t", "partition": 0}]}
PLAN = {"version": 1, "partitions": [{"topic": "t", "partition": 0, "replicas": [4, 5]}]}
ISR_CHANGE = f"{keys.ISR_CHANGES}/isr_change_0000000007"
LOG_DIR_EVENT = f"{keys.LOG_DIR_EVENTS}/log_dir_event_0000000003"
CONFIG_CHANGE = f"{keys.CONFIG_CHANGES}/{keys.CONFIG_CHANGE}{41:010}"


def leaderless() -> Cluster:
    """All replicas in sync of t-0 are dead, and one that is not in sync lives."""
    cluster = cluster_of_three()
    cluster.done(cluster.isr([1]))
    cluster.leave(1)
    assert cluster.state()["leader"] == -1
    return cluster


def led_by_another() -> Cluster:
    cluster = cluster_of_three()
    cluster.leave(1)
    cluster.join(1)
    cluster.done(cluster.isr([2, 3, 1]))
    return cluster


def with_broker_config() -> Cluster:
    cluster = cluster_of_three()
    put(keys.broker_config("1"), {"version": 1, "config": UNCLEAN})(cluster)
    cluster.run()
    return cluster


def put(path: str, value: object) -> Callable[[Cluster], None]:
    return lambda cluster: cluster.put(path, value)


def put_config(path: str) -> Callable[[Cluster], None]:
    return put(path, {"version": 1, "config": UNCLEAN})


def remove_topic(cluster: Cluster) -> None:
    """It is not among the children any more, so it is found by what is known."""
    cluster.delete(keys.state("t", 0))
    cluster.delete(keys.topic("t"))


def add_partition(cluster: Cluster) -> None:
    cluster.put(keys.topic("t"), {**cluster.get(keys.topic("t")), "partitions": {"0": [1, 2, 3], "1": [2, 3]}})


def change_isr(cluster: Cluster) -> None:
    """A leader of an older kind writes the state key itself, and names it in the notification."""
    cluster.put(keys.state("t", 0), {**cluster.state(), "isr": [1, 2]})
    cluster.put(ISR_CHANGE, NAMED)


def lose_disk(cluster: Cluster) -> None:
    cluster.host.told.clear()
    cluster.put(LOG_DIR_EVENT, {"version": 1, "broker": 3, "event": 1})


def reduce(cluster: Cluster) -> None:
    entry = {"timestamp": cluster.clock.now_ms(), "immediate": False}
    cluster.put(keys.delete_partitions("u"), {"version": 1, "partitions": {"1": entry}})


def two_partitions() -> Cluster:
    cluster = cluster_of_three()
    cluster.create("u", (1, 2), (2, 3))
    return cluster


def known(cluster: Cluster, broker: str) -> str | None:
    """The unclean election of a broker's own configs, as the controller knows them."""
    configs: dict[str, str] = cluster.done(cluster.controller.query(lambda view: dict(view.broker_config(broker))))
    return configs.get("unclean.leader.election.enable")


def leads(broker: int) -> Callable[[Cluster], bool]:
    return lambda cluster: bool(cluster.state()["leader"] == broker)


CASES: dict[str, tuple[Callable[[], Cluster], Callable[[Cluster], Any], Callable[[Cluster], bool]]] = {
    "broker that left": (cluster_of_three, lambda c: c.leave(1, run=False), leads(2)),
    "broker that came": (cluster_of_three, lambda c: c.join(7), lambda c: 7 in c.controller.describe().live_brokers),
    "new topic": (
        cluster_of_three,
        put(keys.topic("n"), {"version": 1, "partitions": {"0": [2, 3]}}),
        lambda c: c.has(keys.state("n", 0)),
    ),
    "removed topic": (cluster_of_three, remove_topic, lambda c: c.has(keys.topic("t")) and c.has(keys.state("t", 0))),
    "new partitions": (cluster_of_three, add_partition, lambda c: c.has(keys.state("t", 1))),
    "legacy key": (
        cluster_of_three,
        put(keys.REASSIGN_PARTITIONS, PLAN),
        lambda c: c.state().get("targetReplicas") == [4, 5],
    ),
    "configs of a topic": (leaderless, put_config(keys.topic_config("t")), leads(2)),
    "defaults of all brokers": (leaderless, put_config(keys.BROKER_DEFAULTS), leads(2)),
    "configs of a broker": (cluster_of_three, put_config(keys.broker_config("1")), lambda c: known(c, "1") == "true"),
    "of one that is down": (cluster_of_three, put_config(keys.broker_config("9")), lambda c: known(c, "9") == "true"),
    "removed configs": (
        with_broker_config,
        lambda c: c.delete(keys.broker_config("1")),
        lambda c: known(c, "1") is None,
    ),
    "notification of configs": (
        cluster_of_three,
        put(CONFIG_CHANGE, {"version": 2, "entity_path": "topics/t"}),
        lambda c: next_number(c) == 42,
    ),
    "preferred election": (led_by_another, put(keys.PREFERRED_ELECTION, NAMED), leads(1)),
    "notification of an isr": (
        cluster_of_three,
        change_isr,
        lambda c: not c.has(ISR_CHANGE) and c.partition().isr == (1, 2),
    ),
    "notification of a lost disk": (
        cluster_of_three,
        lose_disk,
        lambda c: bool(c.host.to(3, LeaderAndIsrRequest)) and not c.has(LOG_DIR_EVENT),
    ),
    "topic to delete": (cluster_of_three, put(keys.delete_topic("t"), b""), lambda c: not c.has(keys.topic("t"))),
    "partitions to delete": (two_partitions, reduce, lambda c: c.state("u", 1).get("status_code", 0) != 0),
    "leader key": (cluster_of_three, lambda c: c.delete(LEADER_KEY), lambda c: c.has(LEADER_KEY)),
}


def next_number(cluster: Cluster) -> int:
    """Of the next notification that the controller writes: above those that it knows."""
    number: int = cluster.done(cluster.controller.query(lambda view: view.changes.next_number))  # type: ignore[attr-defined]
    return number


@pytest.mark.parametrize("name", CASES)
def test_resync_finds_what_no_hint_reported(name: str) -> None:
    """It is not noticed before; a controller whose own key went stands for election again."""
    make, change, is_noticed = CASES[name]
    cluster = make()
    cluster.store.play([Rule(DropEvent(), "event")])
    change(cluster)
    cluster.wait(500)
    cluster.store.play([])
    assert not is_noticed(cluster)
    cluster.store.force_resync()
    cluster.run()
    assert is_noticed(cluster)
    assert actives(cluster) == [1]


@pytest.mark.parametrize("name", CASES)
def test_what_could_not_be_read_is_read_again(name: str) -> None:
    make, change, is_noticed = CASES[name]
    cluster = make()
    cluster.store.play([Rule(FailBefore(), read) for read in ("get", "get_many", "get_columns", "children")])
    change(cluster)
    cluster.run()
    cluster.store.play([])
    cluster.wait(500)
    assert is_noticed(cluster)
    assert "store" not in cluster.findings()


def test_stand_by_learns_from_a_resync_that_the_leader_went() -> None:
    """It stands for election at once, though its time to look by itself has not come."""
    cluster = cluster_of_three()
    store = FaultStore(cluster.other.another_session())
    cluster.another(2, store)
    cluster.run()
    store.play([Rule(DropEvent(), "event")])
    cluster.controllers.pop(0).close()
    cluster.run()
    assert actives(cluster) == []
    store.play([])
    store.force_resync()
    cluster.run()
    assert actives(cluster) == [2]
