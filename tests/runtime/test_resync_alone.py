"""A store that lost its events says Resync and no more: what changed below each watched prefix is found all the same.

Each test writes one key while every hint is lost, sees that nothing is noticed, and then forces a Resync.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kedge.controller.codec import keys
from kedge.controller.model.host import LeaderAndIsrRequest
from kedge.stores.base import Resync
from kedge.stores.faults import DropEvent, FaultStore, Rule
from kedge.stores.recipes import LEADER_KEY
from tests.runtime.world import Cluster, actives, cluster_of_three

Change = Callable[[Cluster], object]
Noticed = Callable[[Cluster], bool]
UNCLEAN = {"unclean.leader.election.enable": "true"}


def unheard(cluster: Cluster, change: Change) -> None:
    """Something changes, and every hint of it is lost."""
    cluster.store.play([Rule(DropEvent(), "event")])
    change(cluster)
    cluster.wait(500)
    cluster.store.play([])


def hold(change: Change, noticed: Noticed, cluster: Cluster) -> None:
    """The change is noticed by a Resync, and not before."""
    unheard(cluster, change)
    assert not noticed(cluster)
    cluster.store.force_resync()
    cluster.run()
    assert noticed(cluster)


def settings(path: str, configs: dict[str, str]) -> Change:
    return lambda cluster: cluster.put(path, {"version": 1, "config": configs})


def described(cluster: Cluster, broker: str) -> str | None:
    """The unclean election of a broker's own settings, as the controller knows them."""
    found: dict[str, str] = cluster.done(cluster.controller.query(lambda view: dict(view.broker_config(broker))))
    return found.get("unclean.leader.election.enable")


def next_number(cluster: Cluster) -> int:
    """Of the next notification that the controller writes."""
    found = cluster.done(cluster.controller.query(lambda view: view.changes.next_number))  # type: ignore[attr-defined]
    assert isinstance(found, int)
    return found


def leaderless() -> Cluster:
    """All replicas in sync of t-0 are dead, and one that is not in sync lives."""
    cluster = cluster_of_three()
    cluster.done(cluster.isr([1]))
    cluster.leave(1)
    assert cluster.state()["leader"] == -1
    return cluster


def test_a_broker_that_left() -> None:
    cluster = cluster_of_three()
    hold(lambda c: c.leave(1, run=False), lambda c: c.state()["leader"] == 2, cluster)


def test_a_broker_that_came() -> None:
    cluster = cluster_of_three()
    hold(lambda c: c.join(7), lambda c: 7 in c.controller.describe().live_brokers, cluster)


def test_topic_that_another_client_created() -> None:
    cluster = cluster_of_three()
    new = {"version": 1, "partitions": {"0": [2, 3]}}
    hold(lambda c: c.put(keys.topic("n"), new), lambda c: c.has(keys.state("n", 0)), cluster)


def test_topic_key_that_another_client_removed() -> None:
    """With its state key: it is not among the children any more, so it is found by what is known."""
    cluster = cluster_of_three()

    def change(_: Cluster) -> None:
        cluster.delete(keys.state("t", 0))
        cluster.delete(keys.topic("t"))

    hold(change, lambda c: c.has(keys.topic("t")) and c.has(keys.state("t", 0)), cluster)


def test_partitions_that_another_client_added() -> None:
    cluster = cluster_of_three()
    more = {**cluster.get(keys.topic("t")), "partitions": {"0": [1, 2, 3], "1": [2, 3]}}
    hold(lambda c: c.put(keys.topic("t"), more), lambda c: c.has(keys.state("t", 1)), cluster)


def test_a_reassignment_in_the_legacy_key() -> None:
    cluster = cluster_of_three()
    plan = {"version": 1, "partitions": [{"topic": "t", "partition": 0, "replicas": [4, 5]}]}
    hold(lambda c: c.put(keys.REASSIGN_PARTITIONS, plan), lambda c: c.state().get("targetReplicas") == [4, 5], cluster)


def test_settings_of_a_topic() -> None:
    """Only the settings key is written, without a notification of the change."""
    hold(settings(keys.topic_config("t"), UNCLEAN), lambda c: c.state()["leader"] == 2, leaderless())


def test_defaults_of_all_brokers() -> None:
    hold(settings(keys.BROKER_DEFAULTS, UNCLEAN), lambda c: c.state()["leader"] == 2, leaderless())


@pytest.mark.parametrize("broker", ["1", "9"])
def test_settings_of_a_broker(broker: str) -> None:
    """Also of one that is not live."""
    change = settings(keys.broker_config(broker), UNCLEAN)
    hold(change, lambda c: described(c, broker) == "true", cluster_of_three())


def test_settings_of_a_broker_that_were_removed() -> None:
    """The key is not among the children any more, so it is found by what is known."""
    cluster = cluster_of_three()
    settings(keys.broker_config("1"), UNCLEAN)(cluster)
    cluster.run()
    hold(lambda c: c.delete(keys.broker_config("1")), lambda c: described(c, "1") is None, cluster)


def test_a_notification_of_changed_settings() -> None:
    """Its number is taken: the next one of the controller's own is above it."""
    cluster = cluster_of_three()
    path = f"{keys.CONFIG_CHANGES}/{keys.CONFIG_CHANGE}{41:010}"
    change = {"version": 2, "entity_path": "topics/t"}
    hold(lambda c: c.put(path, change), lambda c: next_number(c) == 42, cluster)


def test_an_election_of_preferred_leaders() -> None:
    cluster = cluster_of_three()
    cluster.leave(1)
    cluster.join(1)
    cluster.done(cluster.isr([2, 3, 1]))
    asked = {"version": 1, "partitions": [{"topic": "t", "partition": 0}]}
    hold(lambda c: c.put(keys.PREFERRED_ELECTION, asked), lambda c: c.state()["leader"] == 1, cluster)


def test_a_notification_of_a_changed_isr() -> None:
    """A leader of an older kind writes the state key itself, and names it in the notification."""
    cluster = cluster_of_three()
    path = f"{keys.ISR_CHANGES}/isr_change_0000000007"

    def change(_: Cluster) -> None:
        cluster.put(keys.state("t", 0), {**cluster.state(), "isr": [1, 2]})
        cluster.put(path, {"version": 1, "partitions": [{"topic": "t", "partition": 0}]})

    hold(change, lambda c: not c.has(path) and c.partition().isr == (1, 2), cluster)


def test_a_notification_of_a_lost_disk() -> None:
    """The broker is asked for all its partitions."""
    cluster = cluster_of_three()
    path = f"{keys.LOG_DIR_EVENTS}/log_dir_event_0000000003"
    cluster.host.told.clear()
    event = {"version": 1, "broker": 3, "event": 1}
    hold(lambda c: c.put(path, event), lambda c: bool(c.host.to(3, LeaderAndIsrRequest)) and not c.has(path), cluster)


def test_topic_whose_deletion_is_requested() -> None:
    cluster = cluster_of_three()
    hold(lambda c: c.put(keys.delete_topic("t"), b""), lambda c: not c.has(keys.topic("t")), cluster)


def test_partitions_whose_deletion_is_requested() -> None:
    cluster = cluster_of_three()
    cluster.create("u", (1, 2), (2, 3))
    path = keys.delete_partitions("u")
    asked = {"version": 1, "partitions": {"1": {"timestamp": cluster.clock.now_ms(), "immediate": False}}}
    hold(lambda c: c.put(path, asked), lambda c: c.state("u", 1).get("status_code", 0) != 0, cluster)


def test_leader_key_that_another_client_removed() -> None:
    """Nothing is committed meanwhile, by which the loss would be learned: the controller stands for election again."""
    cluster = cluster_of_three()
    assert actives(cluster) == [1]
    hold(lambda c: c.delete(LEADER_KEY), lambda c: c.has(LEADER_KEY), cluster)
    assert (actives(cluster), cluster.controller.controller_epoch) == ([1], 2)


def test_a_leader_that_went_while_another_controller_stands_by() -> None:
    """A stand-by stands for election at once, though its time to look by itself has not come."""
    cluster = cluster_of_three()
    store = FaultStore(cluster.other.another_session())
    stand_by = cluster.another(2, store)
    cluster.run()
    store.play([Rule(DropEvent(), "event")])
    cluster.controllers.pop(0).close()
    cluster.run()
    assert actives(cluster) == []
    store.play([])
    store.force_resync()
    cluster.run()
    assert actives(cluster) == [2]
    assert stand_by.is_active


def test_every_prefix_that_a_controller_watches_is_among_these() -> None:
    """A prefix that is watched again needs a test of its own here."""
    cluster = Cluster()
    cluster.run()
    cluster.store.force_resync()
    stream, watched = cluster.controller._loop.subscription, set[str]()  # noqa: SLF001 - nothing else tells of it
    while isinstance(event := stream.poll(0), Resync):
        watched.add(event.prefix)
    assert watched == {
        LEADER_KEY,
        keys.BROKER_IDS,
        keys.TOPICS,
        keys.REASSIGN_PARTITIONS,
        keys.CONFIG_TOPICS,
        keys.CONFIG_BROKERS,
        keys.CONFIG_CHANGES,
        keys.PREFERRED_ELECTION,
        keys.ISR_CHANGES,
        keys.LOG_DIR_EVENTS,
        keys.DELETE_TOPICS,
        keys.DELETE_PARTITIONS,
    }
