"""A live cluster is moved: its brokers serve on without a controller, and nothing that was acknowledged is lost."""

from __future__ import annotations

from contextlib import closing

import pytest

from kedge.controller.model.values import TopicPartition
from kedge.controller.rig.server import RecordingServer
from kedge.stores import MemoryStore
from tests.migration.sites import migration
from tests.simulation.clusters import AFTER, ORDERS, orders

FOUR = [TopicPartition("more", partition) for partition in range(4)]


@pytest.mark.slow
def test_cluster_that_serves_is_moved_and_loses_nothing() -> None:
    """Five moves that run go on from where they were, under leader epochs above all that were sent before."""
    rig = orders(copy_rate_bytes_s=150_000)
    rig.write([ORDERS, *rig.create_topic("more", 8, 3, records=300)], 100, 100)
    rig.reassign(dict.fromkeys([ORDERS, *FOUR], AFTER))
    rig.run(300)
    for node_id in rig.nodes:
        rig.mishaps.kill_controller(node_id)
    rig.run(2_000)
    written = rig.producers.acknowledged()
    rig.run(500)
    assert rig.producers.acknowledged() > written
    rig.invariants.step()
    before = {tp: partition.leader_epoch for tp, partition in rig.committed.partitions.items()}
    assert sum(partition.move is not None for partition in rig.committed.partitions.values()) >= 3
    server = RecordingServer(session_timeout_s=1.0, clock=rig.clock.monotonic_s)
    with closing(MemoryStore(rig.server)) as here, closing(MemoryStore(server)) as there:
        run = migration(here, there)
        run.check()
        run.run()
    rig.follow(server)
    rig.run(1_000)
    rig.producers.writers.clear()
    rig.wait.until_replicas(dict.fromkeys([ORDERS, *FOUR], AFTER), timeout_s=60)
    rig.wait.until_converged()
    rig.check_end()
    assert all(rig.partition(tp).leader_epoch > epoch for tp, epoch in before.items())
