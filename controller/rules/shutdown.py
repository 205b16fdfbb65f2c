"""Controlled shutdown: before a broker goes, others lead what it led, and it leaves every isr that goes on without it.

* The mark is kept in memory only. A takeover knows nothing of it: the host is answered with NOT_CONTROLLER, asks the
  next controller again, and all is looked at again; what was given away already needs nothing.
* Each partition is a Decision of its own. I loses whoever shuts down as long as somebody else is alive in it; the
  leader is the present one if it stays in I, else the first of R (then of T) that does. The last one of I keeps it.
* Whoever shuts down is not alive for elections, placements, targets and isr changes, until it is registered under a new
  epoch.
"""

from __future__ import annotations

from controller.model.errors import StaleBrokerEpoch
from controller.model.events import LATER, Decision, Group, ReplicaLeaves, ShutdownAsked, ShutdownDecided, refuse
from controller.model.records import BrokerShutsDown, IsrChanged, LeaderElected
from controller.model.values import NO_LEADER
from controller.model.view import ClusterView, is_alive
from controller.rules.completion import settle

CAUSE = "controlled shutdown"


def shutdown_asked(view: ClusterView, event: ShutdownAsked) -> Decision:
    """The broker is marked, its partitions follow; the answer comes when all of them are decided."""
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
    """Another leader, or I without those that shut down; nothing where nobody else is alive in I."""
    partition = view.partition(event.topic, event.partition)
    if partition is None or partition.leader == NO_LEADER or event.broker not in view.shutting_down:
        return Decision()
    if view.is_deleting(event.topic) or partition.is_offline:
        return Decision()  # nobody is elected any more
    alive = tuple(b for b in partition.isr if is_alive(view, partition, b))
    if not alive or event.broker not in partition.isr:
        return Decision()
    isr = tuple(b for b in partition.isr if b in alive or b in view.unread)
    epoch = partition.leader_epoch + 1
    if partition.leader in isr:
        after = partition.but(isr=isr, leader_epoch=epoch)
        settled, _ = settle(view, after)
        return Decision((IsrChanged(partition, after, CAUSE), *settled))
    leader = next(b for b in partition.members if b in alive)
    after = partition.but(leader=leader, isr=isr, leader_epoch=epoch)
    settled, _ = settle(view, after)
    return Decision((LeaderElected(partition, after, CAUSE), *settled))


def shutdown_decided(view: ClusterView, event: ShutdownDecided) -> Decision:
    """Reply: the partitions that the broker leads still; StaleBrokerEpoch if it went meanwhile."""
    if error := _stale(view, event):
        return refuse(error)
    held = view.partitions_on(event.broker_id)
    led = (p.tp for p in held if p.leader == event.broker_id and not p.is_offline)
    return Decision(reply=tuple(sorted(led)))
