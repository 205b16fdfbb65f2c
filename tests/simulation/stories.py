"""What happens day by day, at whose every commit something may go wrong: topics and leaders; and how each ends."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

from kedge.controller.codec import keys
from kedge.controller.model.requests import ElectionType, NewPartitions, NewTopic
from kedge.controller.model.values import Settings, TopicPartition
from kedge.controller.rig import Life, Rig
from tests.simulation.clusters import AFTER, BEFORE, ORDERS, keys_of, orders, put, settle
from tests.simulation.enumeration import Scenario, Story, until_so
from tests.simulation.move_stories import ask, healed, small

FRESH: Final = NewTopic(replica_assignments=[(1, 2, 3), (4, 5, 6)], configs={"retention.ms": "1000"})
ISR_CHANGE: Final = f"{keys.ISR_CHANGES}/isr_change_0000000001"
NAMED: Final[Mapping[str, object]] = {"version": 1, "partitions": [{"topic": "orders", "partition": 0}]}
EPOCH: Final = 1  # of `led_by_another`


def led_by_another(settings: Settings) -> Rig:
    """`orders-0` on 1, 2, 3 is led by 2, and all three are in sync."""
    rig = orders(records=50, settings=settings)
    rig.mishaps.bounce_broker(1)
    rig.until(lambda: rig.partition(ORDERS).leader == 2 and 1 in rig.partition(ORDERS).isr, what="1 is back in sync")
    settle(rig)
    return rig


def _soon(check: Scenario) -> Scenario:
    """`check` holds already before all is mended."""

    def end(rig: Rig) -> None:
        rig.run(300)
        check(rig)
        rig.mishaps.heal()
        settle(rig)

    return end


# --- topics and brokers


def creation(rig: Rig) -> None:
    """A topic of two partitions, with a setting."""
    until_so(rig, lambda: "fresh" in rig.committed.topics, lambda: rig.admin.create_topics({"fresh": FRESH}))


def _created(rig: Rig) -> None:
    partitions = [rig.partition(TopicPartition("fresh", p)) for p in (0, 1)]
    assert [(p.replicas, p.isr, p.leader) for p in partitions] == [((1, 2, 3),) * 2 + (1,), ((4, 5, 6),) * 2 + (4,)]
    assert rig.committed.partition_epochs[TopicPartition("fresh", 0)] >= 0
    assert b"retention.ms" in (rig.server.table.rows["/config/topics/fresh"][0] or b"")


def expansion(rig: Rig) -> None:
    """Two more partitions, on brokers that the topic was not on."""
    new = {"orders": NewPartitions(3, [(4, 5, 6), (6, 5, 4)])}
    is_there = TopicPartition("orders", 2)
    until_so(rig, lambda: is_there in rig.committed.partitions, lambda: rig.admin.create_partitions(new))


def _expanded(rig: Rig) -> None:
    """A broker that heard late of its partition may have left the ISR, and is at its end now."""
    assert rig.partition(ORDERS).replicas == BEFORE
    for number, replicas in ((1, (4, 5, 6)), (2, (6, 5, 4))):
        added = rig.partition(TopicPartition("orders", number))
        assert (added.replicas, set(added.isr), added.leader) == (replicas, set(replicas), replicas[0])


def bounce(rig: Rig) -> None:
    """The leader is another process before anybody looked."""
    rig.mishaps.bounce_broker(1)
    rig.run(100)


def death(rig: Rig) -> None:
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


DAYS: Final = {
    "creation": Story(small, creation, healed(_created)),
    "expansion": Story(small, expansion, healed(_expanded)),
    "bounce": Story(small, bounce, healed(_led_again)),
    "death": Story(small, death, healed(_led_again)),
}

# --- leaders


def by_request(rig: Rig) -> None:
    request = ElectionType.PREFERRED, [ORDERS]
    until_so(rig, lambda: rig.partition(ORDERS).leader == 1, lambda: rig.admin.elect_leaders(*request))


def by_key(rig: Rig) -> None:
    put(rig, keys.PREFERRED_ELECTION, NAMED)
    rig.until(lambda: keys.PREFERRED_ELECTION not in rig.server.table.rows, what="the key is gone")


def by_time(rig: Rig) -> None:
    """Each takeover restarts the count."""
    rig.until(lambda: rig.partition(ORDERS).leader == 1, what="1 leads")


def shut_down(rig: Rig) -> None:
    rig.mishaps.shut_down_broker(2, patience_ms=30_000)
    rig.until(lambda: rig.brokers[2].life is Life.DOWN, what="2 is down")


def notified(rig: Rig) -> None:
    """A leader wrote the ISR itself, in another order."""
    key = keys.state("orders", 0)
    put(rig, key, {**json.loads(rig.server.table.rows[key][0]), "isr": [2, 1]})
    put(rig, ISR_CHANGE, NAMED)
    rig.until(lambda: ISR_CHANGE not in rig.server.table.rows, what="the notification is gone")


def _elected_once(rig: Rig) -> None:
    assert (rig.partition(ORDERS).leader, rig.partition(ORDERS).leader_epoch) == (1, EPOCH + 1)


def _gave_way(rig: Rig) -> None:
    """Once, and after a takeover, which knows of no shutdown, perhaps from the isr once more."""
    assert (rig.partition(ORDERS).leader, rig.partition(ORDERS).leader_epoch - EPOCH) in {(1, 1), (1, 2)}
    assert set(rig.partition(ORDERS).isr) == {1, 3}


def _isr_is_known(rig: Rig) -> None:
    assert rig.partition(ORDERS).leader_epoch == EPOCH
    assert {1, 2} <= set(rig.partition(ORDERS).isr)


LEADERS: Final = {
    "election by request": Story(led_by_another, by_request, _soon(_elected_once)),
    "election by key": Story(led_by_another, by_key, _soon(_elected_once)),
    "election by time": Story(led_by_another, by_time, _soon(_elected_once)),
    "shutdown": Story(led_by_another, shut_down, _soon(_gave_way)),
    "ISR notification": Story(led_by_another, notified, _soon(_isr_is_known)),
}

# --- deletion


def deletion(rig: Rig) -> None:
    def is_so() -> bool:
        return "orders" not in rig.committed.topics or "orders" in rig.committed.deleting

    until_so(rig, is_so, lambda: rig.admin.delete_topics(["orders"]))


def deletion_during_a_move(rig: Rig) -> None:
    rig.mishaps.pause_broker(6)
    ask(rig, AFTER)
    rig.run(100)
    deletion(rig)
    rig.mishaps.resume_broker(6)


def deletion_with_one_broker_down(rig: Rig) -> None:
    rig.mishaps.kill_broker(3)
    deletion(rig)
    rig.run(300)
    rig.mishaps.restart_broker(3)


def _deleted(rig: Rig) -> None:
    rig.mishaps.heal()
    rig.until(lambda: "orders" not in rig.committed.topics, what="orders is gone")
    settle(rig)
    assert keys_of(rig, "orders") == []


DELETIONS: Final = {
    scenario.__name__: Story(small, scenario, _deleted)
    for scenario in (deletion, deletion_during_a_move, deletion_with_one_broker_down)
}
