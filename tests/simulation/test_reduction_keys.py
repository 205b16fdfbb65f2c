"""The key of a reduction while it goes on, and topics that have none."""

from __future__ import annotations

import json

import pytest

from kedge.controller.codec import keys
from kedge.controller.model.errors import InvalidRequest
from kedge.controller.model.values import TopicPartition
from tests.simulation.clusters import settle
from tests.simulation.test_reduction import orders


@pytest.mark.checklist(202)
def test_each_purged_partition_leaves_the_key_which_goes_with_the_last() -> None:
    """Partition 2 can be purged at once, partition 1 waits for broker 2."""
    rig = orders(records=0)
    rig.create_topic("t", replicas=[[1, 2], [1, 2], [4, 5]], records=10)
    rig.mishaps.pause_broker(2)
    key = keys.delete_partitions("t")

    def entries() -> list[str]:
        return sorted(json.loads(rig.server.table.rows[key][0])["partitions"])

    rig.delete_partitions("t", 1, immediate=True)
    assert entries() == ["1", "2"]
    rig.until(lambda: TopicPartition("t", 2) not in rig.committed.partitions, what="partition 2 is purged")
    rig.until(lambda: entries() == ["1"], what="its entry is gone")
    rig.mishaps.heal()
    rig.until(lambda: key not in rig.server.table.rows, what="the key is gone")
    settle(rig)


@pytest.mark.checklist(220)
def test_an_internal_topic_is_refused() -> None:
    rig = orders()
    rig.create_topic("__own", partitions=2)
    with pytest.raises(InvalidRequest, match="internal"):
        rig.delete_partitions("__own", 1)
    assert keys.delete_partitions("__own") not in rig.server.table.rows
