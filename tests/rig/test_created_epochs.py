"""The leader epoch under which the rig lets a partition begin (invariant 8)."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from kedge.controller.model.values import NO_LEADER, TopicPartition
from kedge.controller.rig import InvariantBroken, Rig
from kedge.controller.rig.committed import Change
from kedge.controller.rig.server import Committed

TP = TopicPartition("t", 0)
BY = Committed(1, "controller 101", ())


def begin(**fields: Any) -> None:
    """As if the partition were created just now, with these fields."""
    rig = Rig(brokers=dict.fromkeys((1, 2, 3)))
    rig.create_topic("t", replicas=[[1, 2]])
    found = attrs.evolve(rig.partition(TP), **fields)
    rig.invariants.partitions.check(Change(TP, None, found, BY))  # no controller writes what must not be


def test_a_partition_as_it_is_created_begins_under_the_epoch_that_its_id_is_due() -> None:
    begin()
    for epoch in (1, 2):
        with pytest.raises(InvariantBroken, match="invariant 8"):
            begin(leader_epoch=epoch)


@pytest.mark.parametrize("fields", [{"leader": NO_LEADER}, {"leader": 2, "isr": (2,)}], ids=["both died", "one died"])
def test_a_partition_that_lost_its_leader_in_the_commit_that_creates_it_begins_under_a_later_epoch(
    fields: dict[str, Any],
) -> None:
    """Never under an earlier one."""
    begin(leader_epoch=1, **fields)
    with pytest.raises(InvariantBroken, match="invariant 8"):
        begin(leader_epoch=-1, **fields)
