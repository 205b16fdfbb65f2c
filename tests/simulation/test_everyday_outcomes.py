"""Crashes and lost replies at every commit of what happens day by day: topics are created and expanded, brokers die,
bounce and return. Each ends as it would have ended without."""

from __future__ import annotations

import pytest

from kedge.controller.model.requests import NewPartitions, NewTopic
from kedge.controller.model.values import Settings, TopicPartition
from kedge.controller.rig import Rig
from tests.simulation.clusters import BEFORE, ORDERS, leading, orders, running, settle
from tests.simulation.enumeration import CRASHES, LOSSES, Scenario, crashed, lost, named, until_so

FRESH = NewTopic(replica_assignments=[(1, 2, 3), (4, 5, 6)], configs={"retention.ms": "1000"})


def topic_creation(rig: Rig) -> None:
    """A topic of two partitions, with a setting."""
    until_so(
        rig,
        lambda: "fresh" in rig.committed.topics,
        lambda: running(leading(rig)).admin.create_topics({"fresh": FRESH}),
    )


def _created(rig: Rig) -> None:
    partitions = [rig.partition(TopicPartition("fresh", p)) for p in (0, 1)]
    assert [(p.replicas, p.isr, p.leader) for p in partitions] == [((1, 2, 3),) * 2 + (1,), ((4, 5, 6),) * 2 + (4,)]
    assert rig.committed.partition_epochs[TopicPartition("fresh", 0)] >= 0
    assert b"retention.ms" in (rig.server.table.rows["/config/topics/fresh"][0] or b"")


def expansion(rig: Rig) -> None:
    """Two more partitions, one of them placed by hand on brokers that the topic was not on."""
    until_so(
        rig,
        lambda: len(rig.committed.topics["orders"].assignments) == 3,
        lambda: running(leading(rig)).admin.create_partitions({"orders": NewPartitions(3, [(4, 5, 6), (6, 5, 4)])}),
    )


def _expanded(rig: Rig) -> None:
    assert rig.partition(ORDERS).replicas == BEFORE
    for partition, replicas in ((1, (4, 5, 6)), (2, (6, 5, 4))):
        found = rig.partition(TopicPartition("orders", partition))
        assert (found.replicas, found.isr, found.leader) == (replicas, replicas, replicas[0])


def broker_bounce(rig: Rig) -> None:
    """The leader is another process before anybody looked."""
    rig.mishaps.bounce_broker(1)
    rig.run(100)


def broker_death(rig: Rig) -> None:
    """The leader dies without a word, and returns when another one leads."""
    rig.mishaps.kill_broker(1, at_once=False)
    rig.until(lambda: rig.partition(ORDERS).leader != 1, what="another leads")
    rig.mishaps.restart_broker(1)


def _led_again(rig: Rig) -> None:
    """Under a later epoch than that of the creation, by a member of the isr, with all of them in it."""
    partition = rig.partition(ORDERS)
    assert partition.leader_epoch > 0
    assert partition.leader in BEFORE
    assert set(partition.isr) == set(BEFORE)


SCENARIOS: tuple[tuple[Scenario, Scenario], ...] = (
    (topic_creation, _created),
    (expansion, _expanded),
    (broker_bounce, _led_again),
    (broker_death, _led_again),
)


def _rig(settings: Settings) -> Rig:
    return orders(records=50, settings=settings)


def _end(ended: Scenario) -> Scenario:
    def end(rig: Rig) -> None:
        rig.mishaps.heal()
        settle(rig)
        ended(rig)

    return end


@pytest.mark.slow
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("scenario,ended", SCENARIOS, ids=named)
def test_no_lost_commit_changes_the_end_of_a_day(scenario: Scenario, ended: Scenario, loss: str) -> None:
    lost(_rig, scenario, _end(ended), loss)


@pytest.mark.slow
@pytest.mark.parametrize("crash", CRASHES)
@pytest.mark.parametrize("scenario,ended", SCENARIOS, ids=named)
def test_no_crash_changes_the_end_of_a_day(scenario: Scenario, ended: Scenario, crash: str) -> None:
    crashed(_rig, scenario, _end(ended), crash)
