"""Reassignment requests (KIP-455, with KIP-860's flag): accept, override, cancel, roll back, deadline. `completion` has
how a move continues and ends.

* T is the complete final replica list; no replica of R is removed before all of T is in sync.
* An override keeps `origin`. Of the old T, only brokers that are in none of R, the ISR and the new T are deleted.
* A cancel stops the move and does not revert it: R keeps what joined; only members of T outside R and the ISR are
  deleted. It is refused if R would have no live in-sync replica, unless forced.
* Accepting, overriding and cancelling raise the leader epoch by one.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

import attrs

from ..model.errors import (
    ApiError,
    EligibleLeadersNotAvailable,
    InvalidReplicaAssignment,
    InvalidReplicationFactor,
    LeaderNotAvailable,
    NoReassignmentInProgress,
    PolicyViolation,
    StorageError,
    UnknownTopicOrPartition,
)
from ..model.events import AlterReassignment, Decision, ForeignTargetFound, PartitionDue, refuse
from ..model.plural import counted
from ..model.requests import BROKER_ID_MAX, PartitionReassignment, ReassignmentAnswer, WaitingOn
from ..model.values import Move, Partition, Replicas
from ..model.view import ClusterView, is_alive, is_up
from ..records import PartitionChanged
from .completion import change, drop_intents
from .leader_election import elect_first, is_gone_to_requests

_INCLUDES: Final = "The manual partition assignment includes"
_REASONS_MAX: Final = 20  # in a message, since a request may have a million wrong ids
_TIME_MS_MAX: Final = 2**53  # the maximum that the codec reads


def alter_reassignment(view: ClusterView, event: AlterReassignment) -> Decision:
    """One partition of `alter_partition_reassignments`; reply: a ReassignmentAnswer or the error."""
    partition = view.partition(event.topic, event.partition)
    if partition is None or _is_gone(view, partition, event):
        return refuse(UnknownTopicOrPartition(_not_found(view, event.topic, event.partition)))
    if view.has_trouble() and (error := _trouble(view, event)):
        return refuse(error)
    move = partition.move
    if move is None and (event.to_origin or event.target is None):
        return refuse(NoReassignmentInProgress("No partition reassignment is in progress."))
    target = move.origin if event.to_origin and move is not None else event.target
    if target is None:
        return _cancel(view, partition, "cancelled", force=event.force)
    if error := _check_target(view, partition, target, event):
        return refuse(error)
    if not partition.isr and target != partition.replicas:
        return _accept_new(view, partition, target, event)
    if move is None:
        return _accept(view, partition, target, event)
    if move.target == target:
        return _same_target(partition, move, event)
    return _override(view, partition, move, target, event)


def _trouble(view: ClusterView, event: AlterReassignment) -> ApiError | None:
    if view.is_deleting(event.topic):
        return UnknownTopicOrPartition(f"topic {event.topic} is being deleted")
    problem = view.unreadable(event.topic, event.partition)
    return None if problem is None else StorageError(problem)


def _not_found(view: ClusterView, topic: str, partition: int) -> str:
    if view.topic(topic) is None:
        return f"Unable to find a topic named {topic:.300}."
    return f"Unable to find partition {topic}:{partition}."


def _is_gone(view: ClusterView, partition: Partition, event: AlterReassignment) -> bool:
    """A running move of a partition that goes offline can still be cancelled, as going offline itself does."""
    is_cancel = event.target is None and not event.to_origin and partition.move is not None
    return not is_cancel and is_gone_to_requests(view, partition)


def _check_target(
    view: ClusterView, partition: Partition, target: Replicas, event: AlterReassignment
) -> ApiError | None:
    running = partition.move is not None and partition.move.target == target
    if reasons := check_replicas(view, target, partition.members if running else partition.replicas):
        return InvalidReplicaAssignment(reasons)
    if event.policy_message is not None:
        return PolicyViolation(event.policy_message)
    size = len(partition.move.origin if partition.move else partition.replicas)
    if not event.allow_replication_factor_change and len(target) != size:
        name = f"{event.topic}-{event.partition}"
        return InvalidReplicationFactor(
            f"{name}: the target has {counted(len(target), 'replica')}, the partition {size}"
        )
    return None


def check_replicas(view: ClusterView, replicas: Replicas, present: Replicas = ()) -> str | None:
    """What is wrong with a list of brokers, in Kafka's words, with the reason per id; None if nothing is. `present`:
    brokers that hold a replica already and need not be alive."""
    if not replicas:
        return f"{_INCLUDES} an empty replica list."
    once = set(replicas)
    if len(once) == len(replicas) and once.issubset(view.brokers) and not view.shutting_down:
        return None
    reasons: list[str] = []
    for broker, count in Counter(replicas).items():
        if len(reasons) == _REASONS_MAX:
            reasons.append("and more")
            break
        is_id = 0 <= broker <= BROKER_ID_MAX
        if is_id and count > 1:
            reasons.append(f"the broker {broker} more than once")
        elif not is_id or (broker not in view.brokers and broker not in present):
            reasons.append(f"broker {broker}, but no such broker is registered")
        elif broker in view.shutting_down and broker not in present:
            reasons.append(f"broker {broker}, but it is shutting down")
    return f"{_INCLUDES} {'; '.join(reasons)}." if reasons else None


def _deadline(event: AlterReassignment) -> int | None:
    return None if event.move_timeout_ms is None else min(event.now_ms + event.move_timeout_ms, _TIME_MS_MAX)


def _answer(after: Partition, origin: Replicas) -> ReassignmentAnswer:
    return ReassignmentAnswer(after.replicas, after.target_replicas, origin)


def _accept_new(view: ClusterView, partition: Partition, target: Replicas, event: AlterReassignment) -> Decision:
    """A new partition gets its first leader, which is due anyway, and the target."""
    first = elect_first(view, partition)
    if first is None:
        name = f"{event.topic}-{event.partition}"
        why = f"{name} has no state yet: none of {list(partition.replicas)} was ever alive"
        return refuse(LeaderNotAvailable(why))
    accepted = _accept(view, first, target, event)
    return attrs.evolve(accepted, records=(PartitionChanged(partition, first, "created"), *accepted.records))


def _accept(view: ClusterView, partition: Partition, target: Replicas, event: AlterReassignment) -> Decision:
    if target == partition.replicas:
        return Decision(reply=_answer(partition, partition.replicas))
    move = Move(target, partition.replicas, event.now_ms, _deadline(event))
    after = partition.but(move=move, leader_epoch=partition.leader_epoch + 1)
    void = drop_intents(view, partition, target, "member again")
    records, end = change(view, partition, after, void=void)
    return Decision(records, _answer(end, (end.move or move).origin))


def _same_target(partition: Partition, move: Move, event: AlterReassignment) -> Decision:
    deadline = _deadline(event)
    if deadline is None or deadline == move.deadline_ms:
        return Decision(reply=_answer(partition, move.origin))
    after = partition.but(move=attrs.evolve(move, deadline_ms=deadline))
    return Decision((PartitionChanged(partition, after, "deadline replaced"),), _answer(after, move.origin))


def _override(
    view: ClusterView, partition: Partition, move: Move, target: Replicas, event: AlterReassignment
) -> Decision:
    replaced = Move(target, move.origin, move.started_ms, _deadline(event))
    after = partition.but(move=replaced, leader_epoch=partition.leader_epoch + 1)
    dropped = [b for b in move.target if b not in (*partition.replicas, *partition.isr, *target)]
    void = drop_intents(view, partition, target, "member again")
    records, end = change(view, partition, after, void=void, dropped=dropped)
    return Decision(records, _answer(end, move.origin))


def _cancel(view: ClusterView, partition: Partition, cause: str, *, force: bool) -> Decision:
    move = partition.move
    if move is None:
        return Decision()
    after = partition.but(move=None, leader_epoch=partition.leader_epoch + 1)
    if not force and not any(b in after.replicas and is_alive(view, partition, b) for b in after.isr):
        return refuse(
            EligibleLeadersNotAvailable(
                f"{partition.topic}-{partition.partition}: no live replica of {list(after.replicas)} is in sync"
            )
        )
    dropped = [b for b in move.target if b not in partition.replicas and b not in partition.isr]
    records, _ = change(view, partition, after, cause, dropped=dropped)
    return Decision(records, _answer(after, move.origin))


def move_deadline(view: ClusterView, event: PartitionDue) -> Decision:
    """The deadline of a move has passed: it is cancelled, whatever remains in sync."""
    partition = view.partition(event.topic, event.partition)
    if partition is None or partition.move is None or partition.move.deadline_ms is None:
        return Decision()
    if event.now_ms < partition.move.deadline_ms or view.is_deleting(event.topic):
        return Decision()
    return _cancel(view, partition, "deadline", force=True)


def foreign_target_found(view: ClusterView, event: ForeignTargetFound) -> Decision:
    """A move that another controller ignored is not resumed, unless another target was requested since."""
    partition = view.partition(event.topic, event.partition)
    if partition is None or partition.move != event.move or view.is_deleting(event.topic):
        return Decision()
    return _cancel(view, partition, "another controller led", force=True)


def expand_cancel(view: ClusterView, topic: str | None, now_ms: int, *, force: bool) -> tuple[AlterReassignment, ...]:
    """A cancel for every move of `topic`, or of all topics, including those of the legacy key that have not begun. A
    topic that is being deleted cancels its own."""
    moving = dict.fromkeys((p.topic, p.partition) for p in view.moving())
    named = [name for name in (moving | dict.fromkeys(view.legacy.entries)) if topic is None or name[0] == topic]
    return tuple(AlterReassignment(now_ms, *name, None, force=force) for name in named if not view.is_deleting(name[0]))


def describe_move(view: ClusterView, partition: Partition) -> PartitionReassignment | None:
    """The entry of a partition in the listing; None if it does not move."""
    move = partition.move
    if move is None:
        return None
    behind = [b for b in move.target if b not in partition.isr]
    return PartitionReassignment(
        replicas=partition.replicas,
        target_replicas=move.target,
        isr=partition.isr,
        adding=tuple(b for b in move.target if b not in partition.replicas),
        removing=tuple(b for b in partition.replicas if b not in move.target),
        origin=move.origin,
        waiting_on=tuple(WaitingOn(b, not is_up(view, partition, b)) for b in behind),
        started_at=move.started_ms,
        deadline_at=move.deadline_ms,
    )
