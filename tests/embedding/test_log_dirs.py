"""Logs of replicas are described as their hosts reported them."""

from __future__ import annotations

import pytest

from kedge import (
    ErrorCode,
    HostResponse,
    LeaderAndIsrRequest,
    LogReport,
    ReplicaLogDirInfo,
    ReplicaNotAvailable,
    StorageError,
    TopicPartition,
    TopicPartitionReplica,
    UnknownTopicOrPartition,
)
from tests.runtime.world import Cluster, cluster_of_three


def on(broker: int, topic: str = "t", partition: int = 0) -> TopicPartitionReplica:
    return TopicPartitionReplica(topic, partition, broker)


def described(cluster: Cluster, *replicas: TopicPartitionReplica) -> list[object]:
    """The value or the error of each, in order."""
    results = cluster.controller.admin.describe_replica_log_dirs(replicas)
    assert list(results) == list(replicas)
    cluster.run()
    return [future.exception(0) or future.result(0) for future in results.values()]


def test_size_and_lag_are_those_that_were_reported() -> None:
    """The lag is what lacks of the leader's high watermark, also on a target; an unreported size is None."""
    cluster = cluster_of_three()
    cluster.done(cluster.move([4, 5, 6]))
    cluster.controller.report_log(
        [
            LogReport("t", 0, 1, 0, 0, 100, 90, 5000),
            LogReport("t", 0, 2, 0, 0, 95, 80, 4750),
            LogReport("t", 0, 4, 0, 0, 60, 50),
        ]
    )
    assert described(cluster, on(1), on(2), on(4)) == [
        ReplicaLogDirInfo(5000, 0, is_future=False),
        ReplicaLogDirInfo(4750, 0),
        ReplicaLogDirInfo(None, 30),
    ]


def test_without_a_report_of_the_leader_the_lag_is_behind_the_replicas_own_high_watermark() -> None:
    cluster = cluster_of_three()
    cluster.controller.report_log(LogReport("t", 0, 2, 0, 0, 60, 75))
    assert described(cluster, on(2)) == [ReplicaLogDirInfo(None, 15)]


def test_what_was_not_reported_and_what_is_no_replica_are_errors_by_class() -> None:
    """Also where a broker reported a log of a broker that has no replica."""
    cluster = cluster_of_three()
    cluster.controller.report_log([LogReport("t", 0, broker, 0, 0, 1, 1, 1) for broker in (1, 6)])
    found = described(cluster, on(2), on(6), on(1, partition=9), on(1, topic="no"), on(1))
    kinds = [ReplicaNotAvailable, ReplicaNotAvailable, UnknownTopicOrPartition, UnknownTopicOrPartition]
    assert list(map(type, found[:4])) == kinds
    assert [str(error) for error in found[:2]] == [
        "no log of t-0 on broker 2 was reported to this controller",
        "broker 6 has no replica of t-0",
    ]
    assert isinstance(found[0], ReplicaNotAvailable)
    assert found[0].retriable
    assert found[4] == ReplicaLogDirInfo(1, 0)


def test_a_replica_whose_disk_failed_is_a_storage_error() -> None:
    cluster = cluster_of_three()
    tp = TopicPartition("t", 0)
    cluster.controller.report_log(LogReport("t", 0, 3, 0, 0, 1, 1, 1))

    def failed(request: object) -> HostResponse:
        if isinstance(request, LeaderAndIsrRequest) and request.broker_id == 3 and request.partitions:
            return HostResponse(errors={tp: ErrorCode.KAFKA_STORAGE_ERROR})
        return HostResponse()

    cluster.host.answer = failed
    cluster.done(cluster.move([4, 5, 6]))  # so that broker 3 is asked again
    assert list(map(type, described(cluster, on(3)))) == [StorageError]


@pytest.mark.parametrize("wrong", ["t", None, 5, [TopicPartition("t", 0)], [("t", 0, 1)]])
def test_replicas_are_replicas(wrong: object) -> None:
    with pytest.raises(TypeError, match="TopicPartitionReplica"):
        cluster_of_three().controller.admin.describe_replica_log_dirs(wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("wrong", [(1, 0, 1), ("t", "0", 1), ("t", 0, True), ("t", 0, None)])
def test_a_replica_has_a_topic_a_number_and_a_broker(wrong: tuple[object, ...]) -> None:
    with pytest.raises(TypeError, match="a str and two ints"):
        TopicPartitionReplica(*wrong)  # type: ignore[arg-type]
