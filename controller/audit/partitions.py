"""Rows of one partition within a term: the step that each row takes, and what its commit still has to contain.

A completion is three rows in one commit. A broker that leaves R and T gets an intent in the same commit; a member of a
new T has no open intent; a broker that enters the isr from T enters R. All of this is checked at the last row of a
commit.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import attrs

from ..model.values import NO_LEADER
from . import steps
from .standing import PartitionState, Row, broken, read_standing
from .steps import Step, check_step, step_of
from .term import ReplayedCommit, ReplayedTerm, Slot

_ALL_GO: Final = frozenset({"topic deleted", "offline"})
"""Causes that end a move whose replicas are all deleted in later commits."""


def partition_row(term: ReplayedTerm, row: Row) -> None:
    """A row with a partition's values; the term keeps them from now on, legal or not. Raises Broken."""
    now = read_standing(row)
    before = term.partitions.get(now.key)
    cause = row.get("cause")
    step = step_of(str(row["event"]), cause, before, now)
    try:
        if cause is not None and not isinstance(cause, str):
            broken("shape", "a text as cause", f"{cause!r:.80}")
        topic_id = term.topic_id(row)
        if step is not None:
            _check_order(term, step, before, now)
            _check_past(term, before, now)
            check_step(step, before, now, is_known_idle=term.is_whole)
            _check_world(term, step, before, now)
            named = now if now.topic_id == topic_id else attrs.evolve(now, topic_id=topic_id)
            _owe(term, step, before, named, cause)
    finally:
        term.stand(now)


def _check_order(term: ReplayedTerm, step: Step, before: PartitionState | None, now: PartitionState) -> None:
    """The three rows of a completion follow each other; neither of the later two appears without the first."""
    came = term.commit.completing.get(now.key)
    expected: tuple[Step, ...] = ()
    if came == "ReplicasChanged":
        expected = (steps.COMPLETED,)
    elif came == "TargetCleared" and before is not None and before.strays:
        expected = (steps.SHRINK,)
    elif came is None and step in (steps.COMPLETED, steps.SHRINK):
        broken("completion", "ReplicasChanged, TargetCleared, IsrShrunk in one commit", "not in this order")
    if expected and step not in expected:
        broken("completion", f"{'TargetCleared' if came == 'ReplicasChanged' else 'IsrShrunk'} next", "another row")


def _check_past(term: ReplayedTerm, before: PartitionState | None, now: PartitionState) -> None:
    if before is None:
        if now.leader_epoch < term.past_epoch(now):
            broken("leader epoch", f"at least {term.past_epoch(now)}, from a former term", now.leader_epoch)
        return
    was, is_now = before.partition_epoch, now.partition_epoch
    if was is not None and is_now is not None and is_now < was:
        broken("partition epoch", f"at least {was}", is_now)


def _check_world(term: ReplayedTerm, step: Step, before: PartitionState | None, now: PartitionState) -> None:
    """Conditions that come from rows about the topic and about brokers."""
    if step in (steps.ELECTION, steps.FIRST_LEADER, steps.COMPLETION) and now.leader in term.left:
        broken("broker", "a leader that has not left", f"{now.leader}, which left")
    if step is steps.ISR_TOLD and before is not None:
        gone = [b for b in now.isr if b not in before.isr and b in term.left]
        if gone:
            broken("broker", "an isr that gains only brokers that have not left", f"{gone}, which left")
    moves = step in (steps.TARGET_SET, steps.KAFKA_MOVE, steps.OVERRIDE)
    elects = step in (steps.ELECTION, steps.FIRST_LEADER) and now.leader != NO_LEADER
    if now.status == 1 and (moves or elects):
        broken("status", f"no election and no move of {now.topic}-{now.partition}, which is offline", "one")
    if now.topic in term.deleting and (moves or elects):
        broken("topic", f"no election and no move of {now.topic}, which is being deleted", "one")


def _owe(term: ReplayedTerm, step: Step, before: PartitionState | None, now: PartitionState, cause: str | None) -> None:
    commit = term.commit
    if cause == "topic deleted":
        term.deleting.add(now.topic)
    if step is steps.COMPLETION:
        commit.completing[now.key] = "ReplicasChanged"
        left = (*(before.replicas if before is not None else ()), *(now.origin or ()))
        _owe_intents(term, now, left, "left R")
    elif step is steps.COMPLETED:
        commit.completing[now.key] = "TargetCleared"
    elif step is steps.SHRINK:
        del commit.completing[now.key]
    elif step in (steps.CANCELLED, steps.OVERRIDE) and before is not None and cause not in _ALL_GO:
        _owe_intents(term, now, (b for b in before.target or () if b not in before.isr), "left T")
    if step in (steps.TARGET_SET, steps.KAFKA_MOVE, steps.OVERRIDE):
        commit.targeted.add(now.key)
    if now.target is not None and step not in (steps.COMPLETION, steps.TAKEN_WHOLE):
        commit.grows.add(now.key)


def _owe_intents(term: ReplayedTerm, now: PartitionState, brokers: Iterable[int], why: str) -> None:
    for broker in brokers:
        if broker not in now.members and broker not in term.forgotten:
            term.commit.owed[now.topic, now.topic_id, now.partition, broker] = why


def check_commit(term: ReplayedTerm) -> None:
    """Check that the commit is complete, and begin a new one. Raises Broken."""
    commit, term.commit = term.commit, ReplayedCommit()
    _check_completed(term, commit)
    for key in commit.grows:
        now = term.partitions.get(key)
        if now is not None and now.target is not None:
            missing = [b for b in now.target if b in now.isr and b not in now.replicas]
            if missing:
                broken("growth", f"R of {now.topic}-{now.partition} with {missing} in this commit", now.replicas)
    for slot, why in commit.owed.items():
        broken("owed intent", f"an intent for broker {slot[3]} of {slot[0]}-{slot[2]}, which {why}", "none")
    for key in commit.targeted:
        _check_void(term, term.partitions.get(key))


def _check_completed(term: ReplayedTerm, commit: ReplayedCommit) -> None:
    for key, came in commit.completing.items():
        now = term.partitions.get(key)
        if came == "ReplicasChanged":
            broken("completion", f"TargetCleared of {key[0]}-{key[1]} in the same commit", "none")
        if now is not None and now.strays:
            broken("completion", f"IsrShrunk of {key[0]}-{key[1]} in the same commit", "none")


def _check_void(term: ReplayedTerm, now: PartitionState | None) -> None:
    for broker in now.target or () if now is not None else ():
        assert now is not None
        slot: Slot = (now.topic, now.topic_id, now.partition, broker)
        if slot in term.intents and broker not in term.forgotten:
            broken("owed intent", f"no open intent for {broker}, a member of T", "one")
