"""What a leader asked for before it was restarted is refused, also where it leads again under the same leader epoch."""

from __future__ import annotations

import pytest

from kedge import TopicPartition
from kedge.controller.codec import keys
from kedge.controller.model.errors import StaleBrokerEpoch
from tests.runtime.world import cluster_of_three

T0 = TopicPartition("t", 0)


def test_an_isr_change_asked_for_under_the_registration_before_a_bounce_is_refused() -> None:
    """The leader was restarted, and leads again since no other is in sync. What it asked for before it died is
    refused for its older broker epoch alone: the other epochs are those that stand."""
    cluster = cluster_of_three()
    cluster.done(cluster.isr([1]))
    older = cluster.epoch(1)
    cluster.leave(1, run=False)
    cluster.join(1)
    state, entry = cluster.state(), cluster.other.get(keys.state("t", 0), timeout_s=1)
    assert state["leader"] == 1
    assert entry is not None
    epochs = (1, state["leader_epoch"], entry.generation, [1, 2])
    error = cluster.error(cluster.controller.alter_isr(T0, *epochs, older))
    assert isinstance(error, StaleBrokerEpoch)
    assert cluster.state() == state
    assert cluster.done(cluster.controller.alter_isr(T0, *epochs, cluster.epoch(1))).isr == (1, 2)


@pytest.mark.parametrize("recovery_state", [0, 1])
def test_the_same_isr_asked_for_again_under_an_older_registration_is_refused(recovery_state: int) -> None:
    """Though it would change nothing: the broker that asks is not there any more."""
    cluster = cluster_of_three()
    older = cluster.epoch(1)
    cluster.done(cluster.isr([1]))
    cluster.leave(1, run=False)
    cluster.join(1)
    state, entry = cluster.state(), cluster.other.get(keys.state("t", 0), timeout_s=1)
    assert entry is not None
    asked = cluster.controller.alter_isr(T0, 1, state["leader_epoch"], entry.generation, [1], older, recovery_state)
    assert isinstance(cluster.error(asked), StaleBrokerEpoch)
    assert cluster.state() == state
