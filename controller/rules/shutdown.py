"""Controlled shutdown: before a broker stops, others lead its partitions, and it leaves every ISR that has other live
members.

* The mark is kept in memory only. A takeover does not know it: the host gets NOT_CONTROLLER and repeats the request to
  the next controller, which checks all partitions again; those that moved already need nothing.
* Each partition is a Decision of its own. The broker leaves the ISR as long as another member is alive. The leader
  stays if it stays in the ISR, otherwise the first of R (then of T) in the ISR leads. The last ISR member keeps the
  leadership.
* A broker that is shutting down is not alive for elections, placements, targets and ISR changes, until it is registered
  under a new epoch.
"""

from __future__ import annotations

from ..model.errors import StaleBrokerEpoch
from ..model.events import LATER, Decision, Group, ReplicaLeaves, ShutdownAsked, ShutdownDecided, refuse
from ..model.values import NO_LEADER
from ..model.view import ClusterView, is_alive
from ..records import BrokerShutsDown
from .completion import change

CAUSE = "controlled shutdown"


def shutdown_asked(view: ClusterView, event: ShutdownAsked) -> Decision:
    """Mark the broker; events for its partitions follow, and the answer when all are decided."""
    if error := _stale(view, event):
        return refuse(error)
    marked = view.shutting_down.get(event.broker_id) == event.epoch
    touched = [p for p in view.partitions_on(event.broker_id) if event.broker_id in p.isr]
    touched.sort(key=lambda p: p.leader != event.broker_id)
    leaves = tuple([ReplicaLeaves(event.now_ms, p.topic, p.partition, event.broker_id) for p in touched])
    done = ShutdownDecided(event.now_ms, event.broker_id, event.epoch)
    began = () if marked else (BrokerShutsDown(event.broker_id, event.epoch),)
    return Decision(began, LATER, (Group(leaves, done),))


def _stale(view: ClusterView, event: ShutdownAsked | ShutdownDecided) -> StaleBrokerEpoch | None:
    broker = view.brokers.get(event.broker_id)
    if broker is not None and broker.epoch == event.epoch:
        return None
    known = "not registered" if broker is None else f"registered under epoch {broker.epoch}"
    return StaleBrokerEpoch(f"broker {event.broker_id} with epoch {event.epoch} is {known}")


def replica_leaves(view: ClusterView, event: ReplicaLeaves) -> Decision:
    """Another leader, or the ISR without brokers that shut down; nothing if no other ISR member is alive."""
    partition = view.partition(event.topic, event.partition)
    if partition is None or partition.leader == NO_LEADER or event.broker not in view.shutting_down:
        return Decision()
    if view.is_deleting(event.topic) or partition.is_offline:
        return Decision()  # such partitions have no elections
    alive = tuple(b for b in partition.isr if is_alive(view, partition, b))
    if not alive or event.broker not in partition.isr:
        return Decision()
    isr = tuple(b for b in partition.isr if b in alive or b in view.unread)
    leader = partition.leader if partition.leader in isr else next(b for b in partition.members if b in alive)
    after = partition.but(leader=leader, isr=isr, leader_epoch=partition.leader_epoch + 1)
    records, _ = change(view, partition, after, CAUSE)
    return Decision(records)


def shutdown_decided(view: ClusterView, event: ShutdownDecided) -> Decision:
    """Reply: the partitions that the broker still leads; StaleBrokerEpoch if it left meanwhile."""
    if error := _stale(view, event):
        return refuse(error)
    held = view.partitions_on(event.broker_id)
    led = (p.tp for p in held if p.leader == event.broker_id and not p.is_offline)
    return Decision(reply=tuple(sorted(led)))
