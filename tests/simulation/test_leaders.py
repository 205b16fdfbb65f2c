"""Leaders of a whole cluster: brokers that are shut down in an orderly way, preferred leaders, keys that others put;
crashes and lost commits in the middle of each."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from kedge.controller.codec import keys
from kedge.controller.model.requests import ElectionType
from kedge.controller.model.values import Settings, TopicPartition
from kedge.controller.rig import Life, Rig
from kedge.stores.base import ABSENT, Put, Version
from kedge.stores.memory import MemoryStore
from tests.simulation.clusters import ORDERS, Told, leading, orders, running, settle
from tests.simulation.enumeration import CRASHES, LOSSES, Scenario, crashed, lost, named

ISR_CHANGE = f"{keys.ISR_CHANGES}/isr_change_0000000001"
LOG_DIR_EVENT = f"{keys.LOG_DIR_EVENTS}/log_dir_event_0000000001"
NAMED: Mapping[str, object] = {"version": 1, "partitions": [{"topic": "orders", "partition": 0}]}


def put(rig: Rig, key: str, value: object) -> None:
    """Another client writes a key."""
    row = rig.server.table.rows.get(key)
    other = MemoryStore(rig.server)
    other.commit([Put(key, json.dumps(value).encode(), ABSENT if row is None else Version(row[1]))], timeout_s=1)
    other.close()


def led_by_another(**options: Any) -> Rig:
    """`orders-0` on 1, 2, 3 is led by 2, and all three are in sync."""
    rig = orders(records=50, **options)
    rig.mishaps.bounce_broker(1)
    rig.until(lambda: rig.partition(ORDERS).leader == 2 and 1 in rig.partition(ORDERS).isr, what="1 is back in sync")
    settle(rig)
    return rig


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


# --- crashes and lost commits in the middle of it


def by_request(rig: Rig) -> None:
    """Asked until it is so: the active controller may die before the answer."""
    while rig.partition(ORDERS).leader != 1:
        future = running(leading(rig)).admin.elect_leaders(ElectionType.PREFERRED, [ORDERS])
        for _ in range(300):
            if future.done() or rig.partition(ORDERS).leader == 1:
                break
            rig.step()


def by_key(rig: Rig) -> None:
    put(rig, keys.PREFERRED_ELECTION, NAMED)
    rig.until(lambda: keys.PREFERRED_ELECTION not in rig.server.table.rows, what="the key is gone")


def by_time(rig: Rig) -> None:
    """Each takeover restarts the count."""
    rig.until(lambda: rig.partition(ORDERS).leader == 1, what="1 leads")


def elected_once(rig: Rig) -> None:
    assert (rig.partition(ORDERS).leader, rig.partition(ORDERS).leader_epoch) == (1, EPOCH + 1)


def shut_down(rig: Rig) -> None:
    rig.mishaps.shut_down_broker(2, patience_ms=30_000)
    rig.until(lambda: rig.brokers[2].life is Life.DOWN, what="2 is down")


def gave_way(rig: Rig) -> None:
    """Once, and after a takeover, which knows of no shutdown, perhaps from the isr once more."""
    assert (rig.partition(ORDERS).leader, rig.partition(ORDERS).leader_epoch - EPOCH) in {(1, 1), (1, 2)}
    assert set(rig.partition(ORDERS).isr) == {1, 3}


def notified(rig: Rig) -> None:
    key = keys.state("orders", 0)
    value = json.loads(rig.server.table.rows[key][0])
    put(rig, key, {**value, "isr": [2, 1]})
    put(rig, ISR_CHANGE, NAMED)
    rig.until(lambda: ISR_CHANGE not in rig.server.table.rows, what="the notification is gone")


def isr_is_known(rig: Rig) -> None:
    assert rig.partition(ORDERS).leader_epoch == EPOCH
    assert {1, 2} <= set(rig.partition(ORDERS).isr)


EPOCH = 1  # of what `led_by_another` gives
SCENARIOS: tuple[tuple[Scenario, Scenario], ...] = (
    (by_request, elected_once),
    (by_key, elected_once),
    (by_time, elected_once),
    (shut_down, gave_way),
    (notified, isr_is_known),
)


def _rig(settings: Settings) -> Rig:
    return led_by_another(settings=settings)


def _end(ended: Scenario) -> Scenario:
    def end(rig: Rig) -> None:
        rig.run(300)
        ended(rig)
        rig.mishaps.heal()
        settle(rig)

    return end


@pytest.mark.slow
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("scenario,ended", SCENARIOS, ids=named)
def test_no_lost_commit_changes_who_leads(scenario: Scenario, ended: Scenario, loss: str) -> None:
    """Each is elected once, and what others put is worked off."""
    lost(_rig, scenario, _end(ended), loss)


@pytest.mark.full
@pytest.mark.parametrize("crash", CRASHES)
@pytest.mark.parametrize("scenario,ended", SCENARIOS, ids=named)
def test_no_crash_changes_who_leads(scenario: Scenario, ended: Scenario, crash: str) -> None:
    """The next controller goes on: the broker asks again, the key is read again."""
    crashed(_rig, scenario, _end(ended), crash)


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
