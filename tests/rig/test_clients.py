"""Clients of the rig: producers that choose partitions, consumers, groups with committed offsets."""

from __future__ import annotations

import pytest

from kedge.controller.model.errors import ErrorCode, UnknownTopicOrPartition
from kedge.controller.model.values import TopicPartition
from kedge.controller.rig import Rig


def tp(partition: int) -> TopicPartition:
    return TopicPartition("t", partition)


@pytest.fixture
def rig() -> Rig:
    rig = Rig(seed=5)
    rig.create_topic("t", 4, 2)
    rig.wait.until_converged()
    return rig


def test_keyless_records_go_to_all_partitions_in_turn(rig: Rig) -> None:
    producer = rig.clients.producer()
    producer.stream("t", records_per_s=100)
    rig.run(4_000)
    assert set(producer.sent_to) == {tp(p) for p in range(4)}
    assert max(producer.sent_to.values()) - min(producer.sent_to.values()) <= 1


def test_records_of_a_key_go_to_one_partition(rig: Rig) -> None:
    producer = rig.clients.producer()
    for _ in range(5):
        for key in ("a", "b", "c"):
            producer.send("t", key=key)
    where = {key: {at for at, sent in producer.keys.items() if any(k == key for _, _, k in sent)} for key in "abc"}
    assert all(len(found) == 1 for found in where.values())


def test_a_partitioner_of_the_callers_chooses(rig: Rig) -> None:
    producer = rig.clients.producer(lambda key, online: online[-1].partition)  # noqa: ARG005
    assert producer.send("t") == tp(3)


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


@pytest.mark.slow
def test_a_group_reads_everything_once_and_commits_it(rig: Rig) -> None:
    producer, group = rig.clients.producer(), rig.clients.group("g", ["t"], members=3)
    producer.stream("t", records_per_s=200)
    rig.run(2_000)
    producer.stop()
    rig.until(lambda: rig.producers.waiting == 0, what="all is acknowledged")
    rig.run(100)
    assert group.consumed == producer.sent_to
    assert {at: group.committed(at) for at in producer.sent_to} == producer.sent_to
    assert sorted(len(own) for own in group.assignment) == [1, 1, 2]


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
    assert group.consumed == producer.sent_to


def test_consumer_of_a_deleted_partition_gets_an_error_and_reads_the_others(rig: Rig) -> None:
    rig.fill([tp(0)], 10)
    consumer = rig.clients.consumer()
    consumer.assign([tp(0), tp(9)])
    found = consumer.poll()
    assert [run.count for run in found[tp(0)]] == [10]
    assert consumer.errors == {tp(9): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}


@pytest.mark.slow
def test_a_client_goes_by_what_it_knows_until_it_asks_again(rig: Rig) -> None:
    metadata = rig.clients.metadata()
    assert len(metadata.partitions("t")) == 4
    rig.create_topic("u", 2)
    rig.wait.until_converged()
    assert metadata.partitions("u") == ()
    rig.run(metadata.max_age_ms)
    assert len(metadata.partitions("u")) == 2
