"""Leaders of a whole cluster: brokers that are shut down in an orderly way, preferred leaders, keys that others put;
crashes and lost commits in the middle of each."""

from __future__ import annotations

import pytest

from kedge.controller.codec import keys
from kedge.controller.model.values import Settings, TopicPartition
from kedge.controller.rig import Life, Rig
from tests.simulation.clusters import ORDERS, Told, orders, put, settle

LOG_DIR_EVENT = f"{keys.LOG_DIR_EVENTS}/log_dir_event_0000000001"


# --- a broker that is shut down


def test_broker_that_was_shut_down_leads_nothing_and_its_end_elects_none() -> None:
    """Under load; nothing acknowledged is lost."""
    rig = orders()
    writer = rig.write([ORDERS], 500)
    epoch = rig.partition(ORDERS).leader_epoch
    rig.mishaps.shut_down_broker(1)
    rig.until(lambda: rig.brokers[1].life is Life.DOWN, what="1 is down")
    assert (rig.partition(ORDERS).leader, rig.partition(ORDERS).leader_epoch) == (2, epoch + 1)
    rig.run(2_000)
    assert (rig.partition(ORDERS).isr, rig.partition(ORDERS).leader_epoch) == ((2, 3), epoch + 1)
    writer.stop()
    rig.mishaps.restart_broker(1)
    settle(rig)
    assert set(rig.partition(ORDERS).isr) == {1, 2, 3}


def test_the_last_of_the_isr_leads_until_it_goes() -> None:
    """It gets that answer, asks again, and leaves when its patience is over; then the partition waits for it."""
    rig = orders()
    for broker in (2, 3):
        rig.mishaps.kill_broker(broker)
    rig.until(lambda: rig.partition(ORDERS).isr == (1,), what="1 is alone")
    rig.mishaps.shut_down_broker(1, patience_ms=1_000)
    rig.run(500)
    leaving = rig.duties[1].leaving
    assert leaving is not None
    assert leaving.leads == (ORDERS,)
    assert rig.brokers[1].leads(ORDERS)
    rig.until(lambda: rig.brokers[1].life is Life.DOWN, what="1 is down")
    rig.until(lambda: rig.partition(ORDERS).leader == -1, what="nobody leads")
    rig.mishaps.heal()
    settle(rig)


def test_the_last_of_the_isr_gives_way_as_soon_as_another_is_in_sync() -> None:
    """No request is needed."""
    rig = orders()
    for broker in (2, 3):
        rig.mishaps.kill_broker(broker)
    rig.until(lambda: rig.partition(ORDERS).isr == (1,), what="1 is alone")
    rig.mishaps.shut_down_broker(1, patience_ms=20_000)
    rig.run(500)
    rig.mishaps.restart_broker(2)
    rig.until(lambda: rig.brokers[1].life is Life.DOWN, what="1 is down")
    assert rig.partition(ORDERS).leader == 2
    rig.mishaps.heal()
    settle(rig)


def test_a_move_goes_on_while_its_leader_and_a_target_are_shut_down() -> None:
    """The target that left is waited for."""
    rig = orders(copy_rate_bytes_s=2_000_000)
    rig.reassign({ORDERS: [4, 5, 6]})
    for broker in (1, 4):
        rig.mishaps.shut_down_broker(broker)
    rig.until(lambda: all(rig.brokers[b].life is Life.DOWN for b in (1, 4)), what="both are down")
    rig.run(1_000)
    assert rig.partition(ORDERS).target_replicas == (4, 5, 6)
    rig.mishaps.heal()
    rig.wait.until_replicas({ORDERS: [4, 5, 6]})
    settle(rig)


@pytest.mark.slow
def test_all_brokers_are_shut_down_one_after_another_and_nothing_is_lost() -> None:
    """A rolling restart."""
    rig = orders()
    writer = rig.write([ORDERS], 500)
    for broker in (1, 2, 3):
        rig.mishaps.shut_down_broker(broker)
        rig.until(lambda broker=broker: rig.brokers[broker].life is Life.DOWN, what="it is down")  # type: ignore[misc]
        assert rig.partition(ORDERS).leader not in (broker, -1)
        rig.run(200)
        rig.mishaps.restart_broker(broker)
        rig.until(lambda: len(rig.partition(ORDERS).isr) == 3, what="all are in sync")
    writer.stop()
    settle(rig)
    assert rig.producers.acknowledged(ORDERS) > 500


@pytest.mark.checklist(159)
def test_new_rack_of_a_returning_broker_is_sent_to_all() -> None:
    """Metadata names the new rack after the restart."""
    rig = orders()
    rig.mishaps.shut_down_broker(2)
    rig.until(lambda: rig.brokers[2].life is Life.DOWN, what="2 is down")
    said = rig.brokers[2].registration
    rig.brokers[2].registration = type(said)(said.broker_id, said.host, said.port, "moved")
    rig.mishaps.restart_broker(2)
    settle(rig)
    sent = [s.request for s in rig.requests(broker=5) if hasattr(s.request, "live_brokers")]
    assert {peer.broker_id: peer.rack for peer in sent[-1].live_brokers}[2] == "moved"


# --- preferred leaders


@pytest.mark.checklist(5)
def test_the_first_replica_of_a_move_leads_by_itself_in_the_end() -> None:
    """The leader that the move left in place is not the first of the target."""
    rig = orders(settings=Settings(leader_imbalance_check_interval_seconds=2))
    rig.reassign({ORDERS: [3, 1, 2]})
    rig.wait.until_replicas({ORDERS: [3, 1, 2]})
    assert rig.partition(ORDERS).leader == 1
    rig.until(lambda: rig.partition(ORDERS).leader == 3, timeout_s=3, what="3 leads")
    settle(rig)


def test_balance_comes_back_after_a_rolling_restart() -> None:
    """Every broker leads what prefers it, without anybody asking."""
    rig = Rig(
        brokers={1: "a", 2: "b", 3: "c"},
        settings=Settings(leader_imbalance_check_interval_seconds=1, leader_imbalance_per_broker_percentage=0),
        session_timeout_s=1.0,
        lag_max_ms=500,
    )
    tps = rig.create_topic("t", replicas=[[1, 2, 3], [2, 3, 1], [3, 1, 2]] * 3, records=10)
    for broker in (1, 2, 3):
        rig.mishaps.bounce_broker(broker)
        rig.run(200)
    rig.until(
        lambda: all(rig.partition(tp).leader == rig.partition(tp).replicas[0] for tp in tps),
        timeout_s=10,
        what="preferred leaders lead",
    )
    settle(rig)


# --- what others put


def test_a_failed_disk_that_is_notified_is_an_offline_replica() -> None:
    """The broker stays registered: it is asked because of the notification alone."""
    rig = orders()
    rig.brokers[1].disk_failed(ORDERS)
    rig.run(1_000)
    assert rig.partition(ORDERS).leader == 1
    put(rig, LOG_DIR_EVENT, {"version": 1, "broker": 1, "event": 1})
    rig.until(lambda: rig.partition(ORDERS).leader == 2, what="2 leads")
    rig.wait.until_quiet()
    assert LOG_DIR_EVENT not in rig.server.table.rows
    rig.check_end()


def test_unclean_election_that_is_switched_on_by_a_tool_elects() -> None:
    """The journal has the settings and the election."""
    told = Told()
    rig = told.rig
    rig.create_topic("orders", replicas=[[1, 2]], records=100)
    rig.mishaps.kill_broker(2)
    rig.until(lambda: rig.partition(ORDERS).isr == (1,), what="1 is alone")
    rig.mishaps.kill_broker(1)
    rig.mishaps.restart_broker(2)
    rig.run(500)
    assert rig.partition(ORDERS).leader == -1
    put(rig, keys.topic_config("orders"), {"version": 1, "config": {"unclean.leader.election.enable": "true"}})
    put(rig, f"{keys.CONFIG_CHANGES}/config_change_0000000000", {"version": 2, "entity_path": "topics/orders"})
    rig.until(lambda: rig.partition(ORDERS).leader == 2, timeout_s=1, what="2 leads")
    (changed,) = told.rows("ConfigChanged")
    assert changed["detail"]["configs"] == {"unclean.leader.election.enable": "true"}
    rig.mishaps.heal()
    settle(rig)


@pytest.mark.slow
def test_partition_with_its_preferred_leader_is_left_alone() -> None:
    """An hour of checks on a balanced cluster commits nothing."""
    rig = orders()
    settle(rig)
    revision = rig.server.revision
    rig.tick_ms = 1_000
    rig.run(3_600_000)
    assert rig.server.revision == revision
    assert rig.partition(TopicPartition("orders", 0)).leader == 1
