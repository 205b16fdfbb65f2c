"""An ISR change that a leader asked for before its broker was restarted, and that arrives afterwards."""

from __future__ import annotations

import pytest

from kedge.controller.codec import keys
from kedge.controller.model.errors import StaleBrokerEpoch
from kedge.controller.rig.server import write
from tests.simulation.clusters import ORDERS, leading, orders, running, settle


def test_the_broker_epoch_alone_refuses_a_leader_before_a_hidden_restart() -> None:
    """A leader asks to remove 2 from the ISR while no controller reaches the store, and is restarted. A client removes
    `/kedge/brokers/1`, so the next controller does not know that the broker was restarted: the leader, its leader
    epoch and the partition epoch stay as they were. Then the request arrives, and 2 is in sync again."""
    rig = orders()
    writer = rig.write([ORDERS], 500)
    rig.mishaps.pause_broker(2)
    for node in rig.nodes:
        rig.mishaps.cut_off(node)
    leader = rig.brokers[1]
    rig.until(lambda: (held := leader.replica(ORDERS)) is not None and held.asked is not None, what="1 asks")
    before, replica = leader.epoch, leader.replica(ORDERS)
    assert replica is not None
    late = replica.asked
    assert late is not None
    rig.mishaps.bounce_broker(1)
    rig.mishaps.resume_broker(2)
    rig.until(lambda: rig.active is None, what="no controller is active")
    write(rig.server, keys.admitted(1), None)
    for node in rig.nodes:
        rig.mishaps.mend(node)
    active = leading(rig)
    rig.until(lambda: leader.leads(ORDERS), what="1 leads again")
    stands = rig.partition(ORDERS)
    assert (stands.leader_epoch, rig.committed.partition_epochs[ORDERS]) == (late.leader_epoch, late.partition_epoch)
    asked = (late.leader_epoch, late.partition_epoch, late.isr, before)
    with pytest.raises(StaleBrokerEpoch):
        rig.result(running(active).alter_isr(ORDERS, 1, *asked))
    assert rig.partition(ORDERS) == stands
    assert stands.isr == (1, 2, 3)
    writer.stop()
    settle(rig)
