"""The first term over a store that the cluster was migrated to: all leader epochs rise before any request is decided.

Generations and `created` begin again in another store, and with them partition epochs and broker epochs. Only the
leader epoch tells brokers that what they know of a partition is old.
"""

from __future__ import annotations

from ..model.events import Decision, LeaderEpochsDue, MigrationDone
from ..model.records import MigrationWorkedOff, PartitionChanged
from ..model.values import LEADER_DURING_DELETE, Partition
from ..model.view import ClusterView


def leader_epochs_due(view: ClusterView, event: LeaderEpochsDue) -> Decision:
    """The leader epochs rise by one. Skipped are partitions without a state key, which were never sent to a broker, and
    those that are stopped because their topic is being deleted, or offline: StopReplica informs brokers, with the epoch
    of the stop."""
    if view.migration_version == 0:
        return Decision()
    found = (view.partition(event.topic, partition) for partition in event.partitions)
    return Decision(tuple(_raised(p) for p in found if p is not None and _is_known(p)))


def _is_known(partition: Partition) -> bool:
    return partition.has_state and partition.leader != LEADER_DURING_DELETE and not partition.is_offline


def _raised(partition: Partition) -> PartitionChanged:
    return PartitionChanged(partition, partition.but(leader_epoch=partition.leader_epoch + 1))


def migration_done(view: ClusterView, event: MigrationDone) -> Decision:
    """All are raised. After a crash before this, they are raised once more, which is harmless."""
    return Decision((MigrationWorkedOff(view.migration_version),)) if view.migration_version else Decision()
