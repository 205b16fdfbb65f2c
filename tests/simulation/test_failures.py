"""Mishaps in the middle of a move: each ends where the move was to end, and loses nothing."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import pytest

from kedge.controller.admin import ALL
from kedge.controller.codec import keys
from kedge.controller.host import Controller
from kedge.controller.model.errors import InvalidReplicaAssignment, NotController, StaleBrokerEpoch
from kedge.controller.model.requests import ElectionType, NewTopic
from kedge.controller.model.values import TopicPartition
from kedge.controller.rig import InvariantBroken, Rig
from kedge.controller.rig.server import write
from tests.simulation.clusters import AFTER, BEFORE, ORDERS, SIX, asked, leading, leave_alone, orders, running, settle


def _half_way(rig: Rig) -> None:
    """A move of which 4 is in sync, and 6 is not for a while."""
    rig.mishaps.pause_broker(6)
    rig.reassign({ORDERS: AFTER})
    rig.until(lambda: 4 in rig.partition(ORDERS).isr, what="4 is in sync")


def _ends(rig: Rig) -> None:
    rig.mishaps.heal()
    rig.wait.until_replicas({ORDERS: AFTER})
    settle(rig)


@pytest.mark.checklist(109)
def test_a_target_that_is_down_is_refused_and_one_that_dies_is_waited_for() -> None:
    rig = orders()
    rig.mishaps.kill_broker(6)
    rig.run(100)
    with pytest.raises(InvalidReplicaAssignment, match="broker 6, but no such broker"):
        rig.reassign({ORDERS: AFTER})
    rig.mishaps.restart_broker(6)
    rig.run(100)
    _half_way(rig)
    rig.mishaps.kill_broker(6)
    rig.run(3_000)
    (move,) = rig.result(rig.admin.list_partition_reassignments()).values()
    assert [(w.broker, w.down) for w in move.waiting_on] == [(6, True)]
    _ends(rig)


@pytest.mark.checklist(110)
def test_the_leader_dies_and_the_move_goes_on_under_another() -> None:
    rig = orders()
    _half_way(rig)
    rig.mishaps.kill_broker(1)
    rig.until(lambda: rig.partition(ORDERS).leader == 2, what="2 leads")
    _ends(rig)
    assert rig.brokers[1].log(ORDERS) is None


MISHAPS: dict[str, Callable[[Rig, int], None]] = {
    "killed": lambda rig, node: rig.mishaps.kill_controller(node),
    "paused": lambda rig, node: rig.mishaps.pause_controller(node),
    "cut off": lambda rig, node: rig.mishaps.cut_off(node),
    "expired": lambda rig, node: rig.mishaps.expire_session(node, deaf_ms=500),
}


@pytest.mark.checklist(112)
@pytest.mark.parametrize("how", MISHAPS)
def test_the_stand_by_finishes_what_the_active_controller_began(how: str) -> None:
    rig = orders()
    _half_way(rig)
    first = leading(rig)
    MISHAPS[how](rig, first.node_id)
    rig.until(lambda: rig.active not in {None, first}, what="the other is active")
    rig.mishaps.resume_broker(6)
    rig.wait.until_replicas({ORDERS: AFTER})
    _ends(rig)


def test_a_zombie_commits_nothing_and_brokers_drop_what_it_sends() -> None:
    rig = orders()
    zombie = leading(rig)
    rig.mishaps.pause_controller(zombie.node_id)
    leading(rig)
    rig.run(100)
    revision = rig.server.revision
    rig.mishaps.resume_controller(zombie.node_id, deaf_ms=300)
    assert zombie.is_active
    future = asked(zombie, AFTER)
    with pytest.raises(NotController):
        rig.result(future)
    assert rig.server.revision == revision
    settle(rig)


NOTHING_TO_DO: dict[str, Callable[[Controller], Future[Any]]] = {
    "a move to the replicas that it has": lambda c: c.admin.alter_partition_reassignments({ORDERS: BEFORE})[ORDERS],
    "a cancel of nothing": lambda c: c.admin.cancel_partition_reassignments(),
    "a deletion that is under way": lambda c: c.admin.delete_topics(["gone"])["gone"],
    "a topic that is there": lambda c: c.admin.create_topics({"orders": NewTopic(1, 1)})["orders"],
    "a topic that is not": lambda c: c.admin.delete_topics(["new"])["new"],
    "elections of leaders that lead": lambda c: c.admin.elect_leaders(ElectionType.PREFERRED, ALL),
}


@pytest.mark.parametrize("request_of", NOTHING_TO_DO.values(), ids=NOTHING_TO_DO)
def test_a_zombie_does_not_answer_what_its_successor_has_changed(
    request_of: Callable[[Controller], Future[Any]],
) -> None:
    """The request changes nothing of what the zombie knows, so no commit of its own would show that it is deposed."""
    rig = orders(controllers=2)
    rig.create_topic("gone", replicas=[[3]])
    rig.mishaps.kill_broker(3)
    rig.delete_topic("gone", wait=False)
    rig.run(5_000)  # nothing is left that the zombie would commit by itself
    zombie = leading(rig)
    rig.mishaps.pause_controller(zombie.node_id)
    leading(rig)
    rig.mishaps.restart_broker(3)
    rig.until(lambda: "gone" not in rig.committed.topics, what="the topic is deleted")
    rig.create_topic("gone", replicas=[[3]])
    rig.create_topic("new", replicas=[[3]])
    rig.reassign({ORDERS: AFTER})
    rig.wait.until_replicas({ORDERS: AFTER})
    rig.mishaps.resume_controller(zombie.node_id, deaf_ms=300)
    assert zombie.controller is not None
    future = request_of(zombie.controller)
    with pytest.raises(NotController):
        rig.result(future)
    settle(rig)


def test_a_zombie_accepts_no_isr_of_a_topic_that_was_deleted_meanwhile() -> None:
    """It is the ISR that the zombie knows: nothing is written."""
    rig = orders()
    zombie, known, epoch = leading(rig), rig.partition(ORDERS), rig.committed.partition_epochs[ORDERS]
    rig.mishaps.pause_controller(zombie.node_id)
    leading(rig)
    rig.delete_topic("orders")
    rig.create_topic("orders", replicas=[list(BEFORE)])
    rig.mishaps.resume_controller(zombie.node_id, deaf_ms=300)
    assert zombie.controller is not None
    epochs = (known.leader_epoch, epoch, known.isr, rig.brokers[known.leader].epoch)
    with pytest.raises(NotController):
        rig.result(zombie.controller.alter_isr(ORDERS, known.leader, *epochs))
    settle(rig)


def test_a_delete_intent_outlives_its_broker_and_its_controller() -> None:
    rig = orders()
    rig.reassign({ORDERS: [1, 2, 4]})
    rig.mishaps.kill_broker(3)
    rig.wait.until_replicas({ORDERS: [1, 2, 4]})
    rig.run(500)
    assert [i.broker for intents in rig.committed.intents.values() for i in intents] == [3]
    first = leading(rig)
    rig.mishaps.kill_controller(first.node_id)
    leading(rig)
    rig.run(500)
    assert rig.brokers[3].log(ORDERS) is not None
    rig.mishaps.restart_broker(3)
    rig.until(lambda: rig.brokers[3].log(ORDERS) is None, what="3 has deleted")
    rig.mishaps.heal()
    settle(rig)


@pytest.mark.parametrize("broken", [keys.topic("orders"), keys.state("orders", 0)])
def test_a_target_is_not_asked_to_delete_while_a_key_of_its_topic_is_unreadable(broken: str) -> None:
    """A new controller finds the intent in its key, but cannot see that the broker is a target since."""
    rig = Rig(**SIX)
    rig.create_topic("orders", replicas=[list(BEFORE), list(BEFORE)], records=100)
    first = leading(rig)
    rig.network.cut(first.node_id, 3)
    other = TopicPartition("orders", 1)
    rig.reassign({ORDERS: [1, 2], other: [1, 2]})
    rig.reassign({ORDERS: [1, 2, 3]})
    assert [i.broker for intents in rig.committed.intents.values() for i in intents] == [3, 3]
    rig.mishaps.break_key(broken)
    rig.mishaps.kill_controller(first.node_id)
    leading(rig)
    rig.run(500)
    assert rig.brokers[3].log(ORDERS) is not None
    rig.mishaps.heal()
    rig.until(lambda: rig.brokers[3].log(other) is None, what="3 has deleted the other")
    settle(rig)


def test_bounce_without_controller_hides_nothing() -> None:
    rig = orders()
    for node in rig.nodes:
        rig.mishaps.kill_controller(node)
    epoch = rig.partition(ORDERS).leader_epoch
    rig.mishaps.bounce_broker(1)
    rig.run(1_500)
    rig.mishaps.restart_controller(101)
    rig.until(lambda: rig.partition(ORDERS).leader_epoch > epoch, what="the death was worked off")
    rig.mishaps.heal()
    settle(rig)


def test_a_partition_whose_isr_is_dead_waits_for_it() -> None:
    rig = orders()
    leave_alone(rig)
    rig.mishaps.kill_broker(1)
    rig.mishaps.restart_broker(2)
    rig.run(1_000)
    assert rig.partition(ORDERS).leader == -1
    rig.mishaps.restart_broker(1)
    rig.until(lambda: rig.partition(ORDERS).leader == 1, what="1 leads again")
    rig.mishaps.heal()
    settle(rig)


def test_an_unclean_leader_is_elected_where_it_is_asked_for_and_recovers() -> None:
    rig = orders()
    leave_alone(rig)
    rig.mishaps.kill_broker(1)
    rig.mishaps.restart_broker(2)
    rig.run(100)
    assert rig.result(rig.admin.elect_leaders(ElectionType.UNCLEAN, [ORDERS])) == {ORDERS: None}
    assert rig.partition(ORDERS).leader == 2
    rig.mishaps.heal()
    settle(rig)
    assert set(rig.partition(ORDERS).isr) == set(BEFORE)
    assert rig.partition(ORDERS).leader_recovery_state == 0


def test_the_end_is_not_in_order_while_something_is_left_to_do() -> None:
    rig = orders()
    rig.mishaps.kill_broker(3)
    rig.reassign({ORDERS: [1, 2]})
    rig.run(200)
    with pytest.raises(InvariantBroken, match="intents are open"):
        rig.check_end()


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
