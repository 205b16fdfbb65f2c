"""Metadata alone may wait, so that a stream of changes is not a round of callbacks each."""

from __future__ import annotations

from kedge import Settings, TopicPartition
from kedge.controller.model.host import LeaderAndIsrRequest, UpdateMetadataRequest
from tests.embedding.gate import WAIT_S
from tests.embedding.test_threads import Started, started
from tests.kit.waiting import until

__all__ = ["started"]
T0 = TopicPartition("t", 0)


def test_replicas_hear_at_once_while_metadata_waits(started: Started) -> None:
    controller = started.with_topic(1, 2, settings=Settings(metadata_linger_ms=2**31 - 1))
    until(lambda: started.host.to(1, LeaderAndIsrRequest), "the first leader")
    until(lambda: all(started.host.to(broker, UpdateMetadataRequest) for broker in range(1, 5)), "all hear once")
    started.host.told.clear()
    controller.admin.alter_partition_reassignments({T0: [1, 3]}).all().result(WAIT_S)
    until(lambda: any(told.partitions for told in started.host.to(3, LeaderAndIsrRequest)), "the new replica")
    assert started.host.to(4, UpdateMetadataRequest) == []
