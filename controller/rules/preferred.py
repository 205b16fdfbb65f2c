"""Elections of preferred leaders without a caller: by the key `/admin/preferred_replica_election`, and automatic ones.

A broker is out of balance if others lead more than `leader_imbalance_per_broker_percentage` of the partitions that
prefer it (R[0]). Then it is elected for each of them where it is alive and in the ISR; the others stay unchanged.
"""

from __future__ import annotations

from ..model.errors import ApiError
from ..model.events import (
    Decision,
    ElectLeader,
    Event,
    Group,
    NotificationDone,
    PartitionDue,
    PreferredElectionPut,
    Reason,
    RebalanceDue,
)
from ..model.values import LEADER_DURING_DELETE, Partition, TopicPartition
from ..model.view import ClusterView, is_alive
from .foreign_writes import passed_over
from .leader_election import elect_leader, is_gone_to_requests


def preferred_due(view: ClusterView, event: PartitionDue) -> Decision:
    """As a request, but a refusal has no effect."""
    decision = elect_leader(view, ElectLeader(event.now_ms, event.topic, event.partition))
    return Decision() if isinstance(decision.reply, ApiError) else decision


def preferred_election_put(view: ClusterView, event: PreferredElectionPut) -> Decision:
    """An election per partition, then the key is deleted. Unknown partitions are skipped, with the reason."""
    due: list[Event] = []
    unknown: list[TopicPartition] = []
    for tp in dict.fromkeys(event.partitions):
        partition = view.partition(tp.topic, tp.partition)
        if partition is None or is_gone_to_requests(view, partition):
            unknown.append(tp)
        else:
            due.append(PartitionDue(event.now_ms, tp.topic, tp.partition, Reason.PREFERRED))
    done = NotificationDone(event.now_ms, event.at, passed_over(unknown))
    return Decision(expand=(Group(tuple(due), done),))


def rebalance_due(view: ClusterView, event: RebalanceDue) -> Decision:
    """Visit all partitions once; an election for each that an unbalanced broker should and can lead."""
    if not view.settings.auto_leader_rebalance_enable:
        return Decision()
    preferring: dict[int, int] = {}  # broker -> how many partitions prefer it
    elsewhere: dict[int, list[Partition]] = {}  # broker -> those of them with another leader
    for p in view.partitions():
        if p.is_offline or p.leader == LEADER_DURING_DELETE:
            continue
        preferred = p.replicas[0]
        preferring[preferred] = preferring.get(preferred, 0) + 1
        if p.leader != preferred and p.has_state:
            elsewhere.setdefault(preferred, []).append(p)
    percentage = view.settings.leader_imbalance_per_broker_percentage
    due = [
        PartitionDue(event.now_ms, p.topic, p.partition, Reason.PREFERRED)
        for broker in sorted(elsewhere)
        if len(elsewhere[broker]) * 100 > percentage * preferring[broker]
        for p in elsewhere[broker]
        if broker in p.isr and is_alive(view, p, broker)
    ]
    return Decision(expand=tuple(due))
