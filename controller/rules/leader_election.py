"""Leader election. Candidates are tried in the order of R, then members of T; they must be in the ISR and alive. The
ISR never becomes empty: if none of it is alive, the partition has no leader and keeps its ISR, unless the topic allows
unclean election.

A broker that is shutting down is skipped as long as another ISR member is alive; the last one keeps the leadership, and
comes before any unclean election. Every change of leader, and every removal of a dead follower from the ISR, raises the
leader epoch by one. A broker with an unreadable registration is not elected, but keeps its leadership and its place in
the ISR: as long as there is one in the ISR, no broker outside is elected. Unreadable configs permit nothing.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..model.errors import (
    ApiError,
    ElectionNotNeeded,
    EligibleLeadersNotAvailable,
    InvalidTopic,
    PreferredLeaderNotAvailable,
    StorageError,
    UnknownTopicOrPartition,
)
from ..model.events import Decision, ElectLeader, PartitionDue, refuse
from ..model.reductions import OFFLINE
from ..model.values import NO_LEADER, Partition, Replicas, UnreadConfigs
from ..model.view import ClusterView, is_alive, is_kept, is_up
from .completion import change, kafka_move_due

UNCLEAN = "unclean.leader.election.enable"
_NOT_NEEDED = "Leader election not needed for topic partition"


def elect_first(view: ClusterView, partition: Partition) -> Partition | None:
    """A new partition with its first leader: the first live replica of R; its ISR: the live ones. None if none is
    live."""
    alive = tuple(b for b in partition.replicas if is_alive(view, partition, b))
    topic = view.topic(partition.topic)
    if not alive or topic is None:
        return None
    epoch = topic.created_epoch(partition.partition)
    return partition.but(leader=alive[0], isr=alive, leader_epoch=epoch)


def is_going_unled(view: ClusterView, partition: Partition) -> bool:
    """Whether a reduction removes the partition before it had a leader."""
    return not partition.has_state and partition.partition in view.reduction(partition.topic)


def is_gone_to_requests(view: ClusterView, partition: Partition) -> bool:
    """Whether the partition does not exist for requests: it is offline, or was reported so, because its reduction takes
    it offline at once; its status follows in a later commit."""
    if partition.status_code == OFFLINE:
        return True
    if not view.has_trouble():
        return False
    entry = view.reduction(partition.topic).get(partition.partition)
    is_at_once = entry is not None and entry.immediate
    return is_at_once or is_going_unled(view, partition)


def elect_offline(view: ClusterView, partition: Partition, *, unclean: bool) -> Partition | None:
    """The partition with another leader than its present one, which is dead, gone or none; None if it stays without a
    leader as it is."""
    able = able_to_lead(view, partition)
    leader = next((b for b in partition.members if b in able), NO_LEADER)
    epoch = partition.leader_epoch + 1
    if leader != NO_LEADER:
        isr = tuple(b for b in partition.isr if b in able or b in view.unread)
        same = (leader, isr) == (partition.leader, partition.isr)  # the last one, which is shutting down
        return None if same else partition.but(leader=leader, isr=isr, leader_epoch=epoch)
    outside = next((b for b in partition.replicas if is_alive(view, partition, b)), NO_LEADER) if unclean else NO_LEADER
    if outside != NO_LEADER:
        return partition.but(leader=outside, isr=(outside,), leader_epoch=epoch, leader_recovery_state=1)
    return None if partition.leader == NO_LEADER else partition.but(leader=NO_LEADER, leader_epoch=epoch)


def able_to_lead(view: ClusterView, partition: Partition) -> Replicas:
    """The live members of the ISR; if there are none, those that are up and shutting down."""
    alive = tuple(b for b in partition.isr if is_alive(view, partition, b))
    return alive or tuple(b for b in partition.isr if is_up(view, partition, b))


def is_unclean_allowed(view: ClusterView, topic: str) -> bool:
    """The topic's own `unclean.leader.election.enable`, else that of `/config/brokers/<default>`, else the
    controller's."""
    return allows_unclean(view, view.topic_config(topic))


def allows_unclean(view: ClusterView, configs: Mapping[str, str]) -> bool:
    """The result of `is_unclean_allowed` for a topic with these configs."""
    if isinstance(configs, UnreadConfigs):
        return False
    own = configs.get(UNCLEAN)
    return allows_unclean_by_default(view, view.broker_defaults) if own is None else _is_true(own)


def allows_unclean_by_default(view: ClusterView, defaults: Mapping[str, str]) -> bool:
    """The result for topics without an own value, given these defaults of all brokers."""
    if isinstance(defaults, UnreadConfigs):
        return False  # even if the controller's own setting allows it, since they may say otherwise
    said = defaults.get(UNCLEAN)
    return view.settings.unclean_leader_election_enable if said is None else _is_true(said)


def _is_true(value: str) -> bool:
    return value.strip().lower() == "true"


def replica_died(view: ClusterView, event: PartitionDue) -> Decision:
    """Replicas died with their broker or disk: elect another leader, or remove the dead ones from the ISR. If several
    died, the first event decides for all."""
    partition = view.partition(event.topic, event.partition)
    if partition is None or not partition.has_state or view.is_deleting(event.topic) or partition.is_offline:
        return Decision()
    if partition.leader == NO_LEADER:
        return Decision()
    if not is_kept(view, partition, partition.leader):
        return _lead_again(view, partition, "leader died")
    isr = tuple(b for b in partition.isr if is_kept(view, partition, b))
    if len(isr) == len(partition.isr) or partition.leader not in isr:
        return Decision()
    after = partition.but(isr=isr, leader_epoch=partition.leader_epoch + 1)
    return _changed(view, partition, after, "follower died")


def partition_due(view: ClusterView, event: PartitionDue) -> Decision:
    """Check a partition: elect its first leader, or one that can serve if it has none; continue its move."""
    partition = view.partition(event.topic, event.partition)
    if partition is None or view.unreadable(event.topic, event.partition) or view.is_deleting(event.topic):
        return Decision()
    if partition.is_offline or is_going_unled(view, partition):
        return Decision()
    if not partition.has_state:
        first = elect_first(view, partition)
        if first is None:
            return Decision()
        records, _ = change(view, partition, first, "created")
        return Decision(records, expand=kafka_move_due(view, event.topic, event.partition, event.now_ms))
    if partition.leader in partition.isr and _leads_on(view, partition):
        return _changed(view, partition, partition)
    return _lead_again(view, partition, "leader not available")


def _leads_on(view: ClusterView, partition: Partition) -> bool:
    leader = partition.leader
    return leader not in view.shutting_down and is_kept(view, partition, leader)


def _lead_again(view: ClusterView, partition: Partition, cause: str) -> Decision:
    may_come_back = any(b in view.unread for b in partition.isr)
    unclean = not may_come_back and is_unclean_allowed(view, partition.topic)
    after = elect_offline(view, partition, unclean=unclean)
    if after is None:
        return Decision()
    return _changed(view, partition, after, cause)


def _changed(view: ClusterView, partition: Partition, after: Partition, cause: str | None = None) -> Decision:
    records, _ = change(view, partition, after, cause)
    return Decision(records)


def elect_leader(view: ClusterView, event: ElectLeader) -> Decision:
    """`elect_leaders` for one partition; reply None: elected."""
    partition = view.partition(event.topic, event.partition)
    if partition is None or is_gone_to_requests(view, partition):
        what = "partition" if view.topic(event.topic) else "topic"
        name = f"{event.topic}-{event.partition}" if view.topic(event.topic) else event.topic
        return refuse(UnknownTopicOrPartition(f"No such {what} as {name:.300}"))
    if view.is_deleting(event.topic):
        return refuse(InvalidTopic(f"topic {event.topic} is being deleted"))
    if problem := view.unreadable(event.topic, event.partition):
        return refuse(StorageError(problem))
    after = _unclean(view, partition) if event.unclean else _preferred(view, partition)
    if isinstance(after, ApiError):
        return refuse(after)
    cause = "unclean election" if event.unclean else "preferred election"
    return _changed(view, partition, after, cause)


def _preferred(view: ClusterView, partition: Partition) -> Partition | ApiError:
    preferred = partition.replicas[0]
    name = f"{partition.topic}-{partition.partition}"
    if partition.leader == preferred and is_up(view, partition, preferred):
        return ElectionNotNeeded(f"{_NOT_NEEDED}: the preferred leader {preferred} leads {name}.")
    if preferred not in partition.isr or not is_alive(view, partition, preferred):
        why = "not in sync" if is_alive(view, partition, preferred) else "not alive"
        why = "shutting down" if preferred in view.shutting_down else why
        return PreferredLeaderNotAvailable(f"The preferred leader was not available: {preferred} of {name} is {why}.")
    return partition.but(leader=preferred, leader_epoch=partition.leader_epoch + 1)


def _unclean(view: ClusterView, partition: Partition) -> Partition | ApiError:
    name = f"{partition.topic}-{partition.partition}"
    if partition.leader != NO_LEADER and is_kept(view, partition, partition.leader):
        return ElectionNotNeeded(f"{_NOT_NEEDED}: {partition.leader} leads {name}.")
    after = elect_offline(view, partition, unclean=True) if partition.has_state else elect_first(view, partition)
    if after is None or after.leader == NO_LEADER:
        return EligibleLeadersNotAvailable(
            f"Eligible topic partition leaders are not available: no replica of {name}, {list(partition.replicas)}, "
            "is alive."
        )
    return after
