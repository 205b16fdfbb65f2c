"""The first term over a store that the cluster was moved to: every leader epoch rises before any request is decided.

Generations and `created` begin again in another store, and with them partition epochs and broker epochs. What brokers
know of a partition is older than any of them says; the leader epoch is what tells it.
"""

from __future__ import annotations

from controller.model.events import Decision, LeaderEpochsDue, MigrationDone
from controller.model.records import LeaderEpochRaised, MigrationWorkedOff
from controller.model.values import LEADER_DURING_DELETE, Partition
from controller.model.view import ClusterView


def leader_epochs_due(view: ClusterView, event: LeaderEpochsDue) -> Decision:
    """The leader epochs rise by one. A partition without a state key was never told to anybody; of one that is stopped,
    since its topic is being deleted, or offline, brokers hear by StopReplica, which carries the epoch it was stopped
    with."""
    if view.migration_version == 0:
        return Decision()
    found = (view.partition(event.topic, partition) for partition in event.partitions)
    return Decision(tuple(_raised(p) for p in found if p is not None and _is_known(p)))


def _is_known(partition: Partition) -> bool:
    return partition.has_state and partition.leader != LEADER_DURING_DELETE and not partition.is_offline


def _raised(partition: Partition) -> LeaderEpochRaised:
    return LeaderEpochRaised(partition, partition.but(leader_epoch=partition.leader_epoch + 1))


def migration_done(view: ClusterView, event: MigrationDone) -> Decision:
    """Nothing is left to raise; after a crash before this, all are raised once more, which does no harm."""
    return Decision((MigrationWorkedOff(view.migration_version),)) if view.migration_version else Decision()
