"""Leaders of a whole cluster: brokers that are shut down in an orderly way, and preferred leaders."""

from __future__ import annotations

import pytest

from kedge.controller.model.values import Settings
from kedge.controller.rig import Life
from tests.simulation.clusters import ORDERS, leave_alone, orders, settle

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
    leave_alone(rig)
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
    leave_alone(rig)
    rig.mishaps.shut_down_broker(1, patience_ms=20_000)
    rig.run(500)
    rig.mishaps.restart_broker(2)
    rig.until(lambda: rig.brokers[1].life is Life.DOWN, what="1 is down")
    assert rig.partition(ORDERS).leader == 2
    rig.mishaps.heal()
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


# --- what others put
