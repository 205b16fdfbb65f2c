"""A state key that another client wrote counts as the leader's under our leader epoch, else as no one's."""

from __future__ import annotations

from typing import Any

import pytest

from kedge.controller.codec import keys
from tests.runtime.world import Cluster, cluster_of_three

STATE = keys.state("t", 0)


def written(cluster: Cluster, **fields: Any) -> None:
    """Another client writes the state key and names it in a notification."""
    cluster.put(STATE, {**cluster.state(), **fields})
    named = {"version": 1, "partitions": [{"topic": "t", "partition": 0}]}
    cluster.put(f"{keys.ISR_CHANGES}/isr_change_0000000001", named)


@pytest.mark.parametrize("above", [1, 100])
@pytest.mark.parametrize("controller_epoch", [1, 100])
def test_an_isr_of_a_higher_leader_epoch_than_ours_is_not_taken_over(above: int, controller_epoch: int) -> None:
    """Only a controller raises leader epochs, and we lead: no leader of ours has that epoch, so what stands there
    says nothing of who follows ours."""
    cluster = cluster_of_three()
    ours = cluster.state()
    written(cluster, leader_epoch=ours["leader_epoch"] + above, isr=[1], controller_epoch=controller_epoch)
    cluster.run()
    partition = cluster.partition()
    assert (partition.isr, partition.leader) == ((1, 2, 3), 1)
    cluster.done(cluster.move([4, 2, 3]))
    assert cluster.state()["isr"] == [1, 2, 3]
    assert cluster.state()["leader"] == 1
