"""Clients of the rig: producers that choose partitions, consumers, groups with committed offsets. Most of it is what
they see of a topic that gets fewer partitions (KIP-694)."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from kedge.controller.model.errors import ErrorCode, InvalidRequest, UnknownTopicOrPartition
from kedge.controller.model.reductions import OFFLINE, ONLINE, READ_ONLY
from kedge.controller.model.requests import DeletePartitions, NewPartitions
from kedge.controller.model.values import Settings, TopicPartition
from kedge.controller.rig import Rig
from kedge.controller.rig.clients import PartitionInfo

RETENTION_MS = 20_000
INTERVAL_MS = 1_000


def tp(partition: int) -> TopicPartition:
    return TopicPartition("t", partition)


KEEP, GONE = [tp(0), tp(1)], [tp(2), tp(3)]


@pytest.fixture
def rig() -> Rig:
    """A topic of four partitions with 100 records each."""
    rig = Rig(seed=6, settings=Settings(delete_topic_partition_interval_delay_ms=INTERVAL_MS))
    rig.create_topic("t", 4, 2, configs={"retention.ms": str(RETENTION_MS)}, records=100)
    rig.wait.until_converged()
    return rig


def shrink(rig: Rig, *, immediate: bool = False) -> None:
    """To two partitions; what brokers know of it is reported when this returns."""
    rig.result(rig.admin.delete_partitions({"t": DeletePartitions(2, immediate)}).all())
    rig.until(lambda: all(status(rig, at) != ONLINE for at in GONE), what="brokers know")


def status(rig: Rig, at: TopicPartition) -> int:
    """What every live broker says of the partition (offline: also where it is not in the metadata), online where they
    do not agree."""
    live = [broker.metadata for broker in rig.brokers.values() if broker.is_up]
    told = {known[at].status_code if at in known else OFFLINE for known in live}
    return told.pop() if len(told) == 1 else ONLINE


def purged(rig: Rig) -> None:
    rig.until(lambda: tp(2) not in rig.committed.partitions, timeout_s=120, what="t-2 is purged")
    rig.wait.until_converged()


@pytest.mark.checklist(193, 190)
def test_a_producer_chooses_none_that_is_read_only_and_refuses_one_that_is_named(rig: Rig) -> None:
    seen: list[list[int]] = []

    def last(key: str | None, online: Sequence[PartitionInfo]) -> int:  # noqa: ARG001
        seen.append([info.partition for info in online])
        return online[-1].partition

    shrink(rig)
    default, custom = rig.clients.producer(), rig.clients.producer(last)
    for key in (None, "a", "b", "c", "d", "e"):
        assert default.send("t", key=key) in KEEP
        assert custom.send("t", key=key) == tp(1)
    assert seen[-1] == [0, 1]
    assert [info.status for info in default.metadata.partitions("t")] == [0, 0, READ_ONLY, READ_ONLY]
    with pytest.raises(InvalidRequest, match="status is -1"):
        default.send("t", partition=3)


@pytest.mark.checklist(194)
def test_a_leader_refuses_records_of_a_producer_that_has_not_heard_of_it(rig: Rig) -> None:
    """Its log ends where it ended; the producer asks again, and its records go elsewhere."""
    stale = rig.clients.producer(lambda key, online: online[-1].partition)  # noqa: ARG005
    assert stale.send("t") == tp(3)
    rig.until(lambda: rig.producers.waiting == 0, what="it is acknowledged")
    shrink(rig)
    leader = rig.leader(tp(3))
    assert leader is not None
    log = leader.log(tp(3))
    assert log is not None
    end, asked = log.end_offset, stale.metadata.refreshes
    assert stale.send("t") == tp(1)
    assert (log.end_offset, stale.metadata.refreshes) == (end, asked + 1)
    assert rig.produce(tp(3), 5) == 0
    assert log.end_offset == end


@pytest.mark.checklist(195)
def test_a_read_only_partition_is_read_to_its_end_and_stays_with_its_group(rig: Rig) -> None:
    shrink(rig)
    group = rig.clients.group("g", ["t"], members=2)
    rig.run(1_000)
    assert group.consumed == dict.fromkeys(KEEP + GONE, 100)
    assert sorted(at for own in group.assignment for at in own) == KEEP + GONE


@pytest.mark.slow
@pytest.mark.checklist(196)
def test_offline_partition_is_assigned_to_no_member_and_cannot_be_read(rig: Rig) -> None:
    group, alone = rig.clients.group("g", ["t"], members=2), rig.clients.consumer()
    alone.assign([tp(0), tp(3)])
    assert len(alone.poll()) == 2
    rig.run(500)
    before = group.generation
    rig.mishaps.kill_broker(3)  # so that the purge has to wait
    shrink(rig, immediate=True)
    rig.run(group.metadata.max_age_ms)
    assert group.generation > before
    assert sorted(at for own in group.assignment for at in own) == KEEP
    rig.produce(tp(0), 1)
    rig.run(500)
    alone.poll()
    alone.poll()
    assert alone.errors == {tp(3): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}


@pytest.mark.slow
@pytest.mark.checklist(197)
def test_keyless_traffic_moves_on_without_an_error(rig: Rig) -> None:
    producer = rig.clients.producer()
    producer.stream("t", records_per_s=200)
    rig.run(1_000)
    shrink(rig)
    at_end = {at: producer.sent_to[at] for at in GONE}
    rig.run(2_000)
    producer.stop()
    rig.until(lambda: rig.producers.waiting == 0 and producer.waiting == 0, what="all is acknowledged")
    group = rig.clients.group("g", ["t"])
    rig.until(lambda: sum(group.consumed.values()) == 400 + sum(producer.sent_to.values()), what="all of it is read")
    assert producer.refused == 0
    assert {at: producer.sent_to[at] for at in GONE} == at_end


@pytest.mark.checklist(198)
def test_the_records_of_a_key_go_on_in_one_partition_and_older_ones_stay_readable(rig: Rig) -> None:
    producer, group = rig.clients.producer(), rig.clients.group("g", ["t"])
    keys = [f"key-{i}" for i in range(12)]
    for key in keys:
        producer.send("t", key=key)
    rig.until(lambda: rig.producers.waiting == 0, what="all is acknowledged")
    shrink(rig)
    places = {key: {producer.send("t", key=key) for _ in range(2)} for key in keys}
    assert all(len(found) == 1 and found <= set(KEEP) for found in places.values())
    rig.until(lambda: rig.producers.waiting == 0, what="all is acknowledged")
    moved = [key for at in GONE for _, _, key in producer.keys.get(at, ())]
    assert moved, "no key was in a partition that goes"
    rig.run(500)
    assert sum(group.consumed.values()) == 400 + 36


@pytest.mark.slow
@pytest.mark.checklist(218, 219)
def test_committed_offsets_of_a_purged_partition_are_deleted_and_a_new_one_read_from_its_start(rig: Rig) -> None:
    group = rig.clients.group("g", ["t"])
    rig.run(500)
    assert group.committed(tp(3)) == 100
    shrink(rig, immediate=True)
    purged(rig)
    assert [group.committed(at) for at in KEEP + GONE] == [100, 100, None, None]
    rig.run(group.metadata.max_age_ms)
    rig.result(rig.admin.create_partitions({"t": NewPartitions(4)}).all())
    rig.wait.until_converged()
    rig.fill([tp(3)], 7)
    rig.run(group.metadata.max_age_ms)
    assert group.consumed[tp(3)] == 107
    assert group.committed(tp(3)) == 7


@pytest.mark.slow
@pytest.mark.checklist(225)
def test_a_client_from_before_reads_what_is_read_only_fails_to_write_it_and_sees_nothing_offline(rig: Rig) -> None:
    old = rig.clients.producer(lambda key, online: online[-1].partition, knows_status=False)  # noqa: ARG005
    reader = rig.clients.consumer(knows_status=False)
    shrink(rig)
    reader.assign([tp(3)])
    assert [run.count for run in reader.poll()[tp(3)]] == [100]
    assert old.send("t", 3) is None  # it goes on choosing it, is refused each time, and waits
    rig.run(RETENTION_MS + 2 * INTERVAL_MS)
    purged(rig)
    rig.run(1_000)
    assert [info.partition for info in old.metadata.partitions("t")] == [0, 1]
    assert old.waiting == 0
    assert old.sent_to == {tp(1): 3}


# --- whether or not it gets fewer


def test_keyless_records_go_to_all_partitions_in_turn(rig: Rig) -> None:
    producer = rig.clients.producer()
    producer.stream("t", records_per_s=100)
    rig.run(4_000)
    assert set(producer.sent_to) == {tp(p) for p in range(4)}
    assert max(producer.sent_to.values()) - min(producer.sent_to.values()) <= 1


def test_a_producer_that_knows_no_such_topic_or_partition_says_so(rig: Rig) -> None:
    producer = rig.clients.producer()
    with pytest.raises(UnknownTopicOrPartition):
        producer.send("u")
    with pytest.raises(UnknownTopicOrPartition):
        producer.send("t", partition=4)


def test_records_wait_without_a_leader_and_are_sent_then(rig: Rig) -> None:
    only = rig.create_topic("u", replicas=[[1]])[0]
    rig.wait.until_converged()
    producer = rig.clients.producer()
    rig.mishaps.kill_broker(1)
    rig.until(lambda: rig.leader(only) is None, what="nobody leads")
    assert producer.send("u", 7) is None
    rig.run(200)
    assert producer.waiting == 7
    rig.mishaps.restart_broker(1)
    rig.until(lambda: producer.waiting == 0, what="they are sent")
    rig.until(lambda: rig.producers.acknowledged(only) == 7, what="they are acknowledged")


def test_a_group_rebalances_when_a_member_goes_and_reads_on_from_what_it_committed(rig: Rig) -> None:
    producer, group = rig.clients.producer(), rig.clients.group("g", ["t"], members=2)
    producer.stream("t", records_per_s=100)
    rig.run(1_000)
    before = group.generation
    group.resize(1)
    rig.run(1_000)
    producer.stop()
    rig.until(lambda: rig.producers.waiting == 0, what="all is acknowledged")
    rig.run(100)
    assert group.generation == before + 1
    assert group.consumed == {at: 100 + count for at, count in producer.sent_to.items()}
    assert {at: group.committed(at) for at in KEEP + GONE} == group.consumed


def test_consumer_of_a_deleted_partition_gets_an_error_and_reads_the_others(rig: Rig) -> None:
    rig.fill([tp(0)], 10)
    consumer = rig.clients.consumer()
    consumer.assign([tp(0), tp(9)])
    found = consumer.poll()
    assert sum(run.count for run in found[tp(0)]) == 110
    assert consumer.errors == {tp(9): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
