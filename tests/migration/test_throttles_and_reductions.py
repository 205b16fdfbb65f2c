"""A cluster goes to another store while throttles are marked and topics lose partitions: both end there."""

from __future__ import annotations

from kedge import DeletePartitions, ThrottledReplicas, TopicPartition
from kedge.controller.codec import keys
from kedge.controller.model.reductions import OFFLINE, READ_ONLY
from tests.migration.world import LEFT, Moved
from tests.runtime.throttled import FOLLOWER_LIST, LEADER_LIST, T, alter_rates, both

OPEN = (keys.REPLICAS_REMOVAL, keys.RATES_REMOVAL, keys.delete_partitions("t"), keys.delete_partitions("u"))


def busy() -> Moved:
    """Marks of a topic and of a broker that had a rate, a read-only partition of t, and an offline one of u that waits
    for a broker."""
    moved = Moved()
    moved.put(keys.topic_config("t"), {"version": 1, "config": {LEADER_LIST: "9:9", "retention.ms": "600000"}})
    moved.put(keys.broker_config("1"), {"version": 1, "config": both(777)})
    moved.run()
    admin = moved.controller.admin
    lists = admin.alter_interbroker_throttled_replicas({T: ThrottledReplicas([1], [4])})
    assert moved.error(lists[T]) is None
    assert alter_rates(moved, {1: 5_000, 2: 5_000}) == {1: None, 2: None}
    wanted = {"t": DeletePartitions(2), "u": DeletePartitions(1, immediate_delete=True)}
    assert moved.done(admin.delete_partitions(wanted).all()) == {"t": {2: READ_ONLY}, "u": {1: OFFLINE}}
    return moved


def test_marks_and_reductions_arrive_as_they_were_and_are_ended_there() -> None:
    """What an operator had set comes back, and the time of what is read-only does not restart."""
    moved = busy()
    before = moved.values(moved.server)
    moved.migration().run(0)
    moved.take_over()
    after = moved.values(moved.to)
    assert {key: after.get(key) for key in OPEN} == {key: before[key] for key in OPEN}
    assert moved.told(keys.state("t", 2))["status_code"] == READ_ONLY
    assert moved.told(keys.state("u", 1))["status_code"] == OFFLINE
    moved.register_all([LEFT])
    moved.run()
    assert moved.told(keys.delete_partitions("u")) is None
    assert list(moved.told(keys.topic("u"))["partitions"]) == ["0"]
    cancelled = moved.next.admin.alter_partition_reassignments({TopicPartition("t", 0): None})
    assert moved.error(cancelled[T]) is None
    assert moved.told(keys.REPLICAS_REMOVAL) is moved.told(keys.RATES_REMOVAL) is None
    assert moved.told(keys.topic_config("t"))["config"] == {LEADER_LIST: "9:9", "retention.ms": "600000"}
    assert [moved.told(keys.broker_config(broker))["config"] for broker in ("1", "2")] == [both(777), {}]
    assert FOLLOWER_LIST not in moved.told(keys.topic_config("t"))["config"]
    since = moved.get(keys.delete_partitions("t"))["partitions"]["2"]["timestamp"]
    moved.clock.advance(since + 600_000 - moved.clock.now_ms())
    moved.wait(310_000, 10_000)
    assert moved.told(keys.delete_partitions("t")) is None
    assert list(moved.told(keys.topic("t"))["partitions"]) == ["0", "1"]
