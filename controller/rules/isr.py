"""Changes of the ISR by leaders (`alter_isr`, in the form of KIP-497). Checks are made in order, the first match wins.
An ISR change does not raise the leader epoch. In the same Decision, a running move then grows or completes.

A leader that shuts down kept leading because no other replica was in sync: once one is, the partition is checked again.
"""

from __future__ import annotations

from ..model.errors import (
    ApiError,
    FencedLeaderEpoch,
    IneligibleReplica,
    InvalidRequest,
    InvalidUpdateVersion,
    NotController,
    StaleBrokerEpoch,
    StorageError,
    UnknownTopicOrPartition,
)
from ..model.events import AlterIsr, Decision, Event, ReplicaLeaves, refuse
from ..model.reductions import OFFLINE
from ..model.requests import AcceptedIsr
from ..model.values import NO_EPOCH, NO_LEADER, Partition
from ..model.view import ClusterView, all_alive, is_alive, is_up
from .completion import change


def alter_isr(view: ClusterView, event: AlterIsr) -> Decision:
    """Reply None: accepted (the runtime answers with the committed ISR). Otherwise the error."""
    broker = view.brokers.get(event.leader)
    if broker is None or broker.epoch != event.broker_epoch:
        known = "not registered" if broker is None else f"registered under epoch {broker.epoch}"
        return refuse(StaleBrokerEpoch(f"broker {event.leader} with epoch {event.broker_epoch} is {known}"))
    partition = view.partition(event.topic, event.partition)
    if error := _check_there(view, partition, event):
        return refuse(error)
    assert partition is not None
    if error := _check_epochs(view, partition, event):
        return refuse(error)
    if restarted := [b for b, epoch in (event.isr_epochs or {}).items() if not _is_under(view, b, epoch)]:
        return refuse(
            IneligibleReplica(f"{_named(event)}: {restarted[:20]} are not under the epochs that the leader knows")
        )
    if event.new_isr == partition.isr and event.leader_recovery_state == partition.leader_recovery_state:
        return Decision()
    if error := _check_content(view, partition, event):
        return refuse(error)
    after = partition.but(isr=event.new_isr, leader_recovery_state=event.leader_recovery_state)
    records, end = change(view, partition, after)
    follow: tuple[Event, ...] = ()
    if end.leader in view.shutting_down:
        follow = (ReplicaLeaves(event.now_ms, event.topic, event.partition, end.leader),)
    return Decision(records, expand=follow)


def told_by_key(view: ClusterView, partition: Partition, found: Partition) -> Partition:
    """The partition with the ISR and recovery state that its leader wrote into the state key itself (a host of an older
    kind), without joined members that are not alive, and without brokers that are no members. Unchanged if both are
    the same, or are not from this leader under this epoch: an older leader knows nothing about the followers of this
    one."""
    present = (b for b in found.isr if b in partition.isr or is_alive(view, partition, b))
    isr = tuple(b for b in present if b in partition.members)
    same = (isr, found.leader_recovery_state) == (partition.isr, partition.leader_recovery_state)
    legal = found.leader_epoch == partition.leader_epoch and isr and partition.leader in (*isr, NO_LEADER)
    if same or not legal:
        return partition
    return partition.but(isr=isr, leader_recovery_state=found.leader_recovery_state)


def accepted_isr(view: ClusterView, event: AlterIsr) -> AcceptedIsr | ApiError:
    """The answer to the leader once its change is committed: the partition as it is then, since one batch may have
    changed it more than once."""
    partition = view.partition(event.topic, event.partition)
    if partition is None:
        return UnknownTopicOrPartition(f"there is no partition {event.topic}-{event.partition} any more")
    return AcceptedIsr(partition.isr, view.partition_epoch(partition))


def _named(event: AlterIsr) -> str:
    return f"{event.topic}-{event.partition}"


def _is_under(view: ClusterView, broker: int, epoch: int) -> bool:
    """Whether the broker has not restarted since its leader heard from it: then it may have lost records (KIP-903)."""
    live = view.brokers.get(broker)
    return epoch == NO_EPOCH or (live is not None and live.epoch == epoch)


def _check_there(view: ClusterView, partition: Partition | None, event: AlterIsr) -> ApiError | None:
    troubled = view.has_trouble()
    if troubled and (problem := view.unreadable(event.topic, event.partition)):
        return StorageError(problem)
    if partition is None or not partition.isr or partition.status_code == OFFLINE:
        return UnknownTopicOrPartition(f"there is no partition {event.topic}-{event.partition}")
    if troubled and view.is_deleting(event.topic):
        return UnknownTopicOrPartition(f"topic {event.topic} is being deleted")
    return None


def _check_epochs(view: ClusterView, partition: Partition, event: AlterIsr) -> ApiError | None:
    epoch = view.partition_epoch(partition)
    if event.leader_epoch > partition.leader_epoch or event.partition_epoch > epoch:
        return NotController(
            f"{_named(event)}: the request knows leader epoch {event.leader_epoch} and partition epoch "
            f"{event.partition_epoch}, this controller {partition.leader_epoch} and {epoch}"
        )
    if event.leader_epoch < partition.leader_epoch:
        return FencedLeaderEpoch(f"{_named(event)}: leader epoch is {partition.leader_epoch}, not {event.leader_epoch}")
    if event.leader != partition.leader:
        return InvalidRequest(f"{_named(event)}: {event.leader} is not the leader, {partition.leader} is")
    same = event.new_isr == partition.isr and event.leader_recovery_state == partition.leader_recovery_state
    if event.partition_epoch < epoch and not same:
        return InvalidUpdateVersion(f"{_named(event)}: partition epoch is {epoch}, not {event.partition_epoch}")
    return None


def _may_be_in_sync(view: ClusterView, partition: Partition, broker: int) -> bool:
    return (is_up if broker in partition.isr else is_alive)(view, partition, broker)


def _check_content(view: ClusterView, partition: Partition, event: AlterIsr) -> ApiError | None:
    new_isr, members, once = event.new_isr, partition.members, set(event.new_isr)
    is_legal = once.issubset(members) and event.leader in once and len(once) == len(new_isr)
    if is_legal and not event.leader_recovery_state and all_alive(view, once):
        return None
    # A broker that is shutting down may stay in the ISR until that is decided, but not join it.
    dead = [] if all_alive(view, new_isr) else [b for b in new_isr if not _may_be_in_sync(view, partition, b)]
    if dead:
        return IneligibleReplica(f"{_named(event)}: {dead} of the new isr {list(new_isr)} are not alive")
    if not is_legal:
        return InvalidRequest(
            f"{_named(event)}: an isr must hold the leader {event.leader} and only members of {list(members)}, "
            f"each once; got {list(new_isr)}"
        )
    if event.leader_recovery_state not in (0, 1):
        return InvalidRequest(
            f"{_named(event)}: leader_recovery_state must be 0 or 1, not {event.leader_recovery_state}"
        )
    if event.leader_recovery_state == 1 and (len(new_isr) > 1 or partition.leader_recovery_state == 0):
        return InvalidRequest(
            f"{_named(event)}: a recovering leader must be alone in its isr, and a leader cannot begin to recover again"
        )
    return None
