"""Brokers in processes of their own join a gateway and follow orders: the example, started as a user would."""

from __future__ import annotations

import pytest

from kedge import NewTopic, TopicPartition
from tests.kit.waiting import until
from tests.wire.remote import Process, Remote

pytestmark = [
    pytest.mark.server,
    pytest.mark.slow,
]
TP = TopicPartition("orders", 0)


@pytest.mark.full
def test_a_partition_moves_between_processes_and_leadership_leaves_the_one_that_is_killed() -> None:
    """And joins the ISR again when it is started again."""
    with Remote(session_s=3.0) as remote:
        brokers = {broker_id: remote.broker(broker_id, rack=f"rack-{broker_id}") for broker_id in (1, 2, 3)}
        remote.live(1, 2, 3)
        admin = remote.controller.admin
        admin.create_topics({"orders": NewTopic(replica_assignments=[[1, 2]])}).all().result(30)
        until(lambda: "leads orders 0 targets None" in brokers[1].said())
        until(lambda: "follows orders 0 targets None" in brokers[2].said())

        admin.alter_partition_reassignments({TP: [3, 2]}).all().result(30)
        until(lambda: remote.partition("orders").move is None)
        moved = remote.partition("orders")
        assert (moved.replicas, set(moved.isr)) == ((3, 2), {2, 3})
        assert "follows orders 0 targets [3, 2]" in brokers[3].said()
        until(lambda: "deleted orders 0" in brokers[1].said())

        leader = moved.leader
        brokers[leader].kill()
        again = remote.broker(leader)  # let in once the session of the old one is over
        [other] = {2, 3} - {leader}
        until(lambda: remote.partition("orders").isr == (other,))
        # Its last role: where it had to register again it may say that after the order that came by its registration.
        until(lambda: [s for s in brokers[other].said() if " targets " in s][-1] == "leads orders 0 targets None")
        until(lambda: set(remote.partition("orders").isr) == {2, 3})
        assert "follows orders 0 targets None" in again.said()


def test_a_broker_that_is_asked_to_go_hands_leadership_over_first() -> None:
    with Remote() as remote:
        brokers = {broker_id: remote.broker(broker_id) for broker_id in (1, 2)}
        remote.live(1, 2)
        created = NewTopic(replica_assignments=[[1, 2]])
        remote.controller.admin.create_topics({"orders": created}).all().result(30)
        brokers[1].ask_to_go()
        until(lambda: brokers[1].ended() is not None)
        assert brokers[1].ended() == 0
        assert not [line for line in brokers[1].said() if line.startswith(("Traceback", "Exception", "Task"))]
        assert remote.partition("orders").leader == 2
        until(lambda: "leads orders 0 targets None" in brokers[2].said())


@pytest.mark.full
def test_only_possible_leader_shuts_down_when_its_patience_is_over() -> None:
    """Also where its gateway went before."""
    with Remote() as remote:
        where = f"{remote.address.host}:{remote.address.port}"
        with Process(1, where, None, patience_s=0.5) as one, Process(2, where, None, patience_s=0.5) as two:
            remote.live(1, 2)
            alone = NewTopic(replica_assignments=[[1], [2]])
            remote.controller.admin.create_topics({"orders": alone}).all().result(30)
            until(lambda: "leads orders 0 targets None" in one.said() and "leads orders 1 targets None" in two.said())
            one.ask_to_go()
            until(lambda: one.ended() is not None)
            assert one.ended() == 0
            remote.gateway.close()
            two.ask_to_go()
            until(lambda: two.ended() is not None)
            assert two.ended() == 0
