"""The record of a partition: one per partition and Decision, whatever changed.

What a change means follows from the values before and after it, and from its cause (docs/decisions/0127): the steps
that the journal shows, what the keys in the store must hold, and whether replicas have to obey. Nothing else decides
it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import attrs

from ..codec.journal_text import values
from ..model.records import Record
from ..model.values import LEADER_DURING_DELETE, Move, Partition, Replicas
from ..state import ClusterState, DirtyKey
from .line import LineContext
from .publication import Publication

COMPLETED: Final = "completed"
"""The cause of the steps that complete a move."""

_WITH_DEADLINE: Final = ("TargetSet", "TargetReplaced")


class Step(NamedTuple):
    """A part of a change, as the journal shows it. `cause` None: that of the Decision."""

    event: str
    before: Partition
    after: Partition
    cause: str | None


@attrs.define
class PartitionChanged(Record):
    """A partition changed from `before` to `after`. `cause`: of the first part, None: that of the Decision.

    `via`: the value in between, None if there is none. With a move, it is the partition whose move then went on by
    itself: R grew by members of T in the ISR, or the move is complete. Without one, the move was cancelled first, since
    the partition goes offline or its topic is deleted. `is_found`: another program wrote the state key.
    """

    EVENTS = (
        "ForeignChange",
        "IsrChanged",
        "IsrShrunk",
        "LeaderElected",
        "ReplicasChanged",
        "ReplicasGrown",
        "StatusChanged",
        "TargetCleared",
        "TargetReplaced",
        "TargetSet",
    )

    before: Partition
    after: Partition
    cause: str | None = None
    via: Partition | None = None
    is_found: bool = False

    @property
    def first(self) -> Partition:
        """The value after the first part, which the rule decided; `before` if only the move went on."""
        return self.after if self.via is None else self.via

    @property
    def ended(self) -> Move | None:
        running = self.first.move or self.before.move
        return running if self.after.move is None else None

    # --- the state and its keys

    def apply(self, state: ClusterState) -> int:
        """Returns the number of the partition."""
        before, after = self.before, self.after
        number = state.number(before.topic, before.partition)
        assert number is not None, f"{before.topic}-{before.partition} is not in the state"
        state.put_row(number, before, after)
        state.batch.undone_by(state.put_row, number, after, before)
        if self.grew:
            state.batch.grew(after.topic)
        return number

    def dirty(self, state: ClusterState, token: int) -> Sequence[DirtyKey]:
        after = self.after
        dirty: list[DirtyKey] = [("state", token)] if self.needs_state_key else []
        if self.needs_topic_key:
            dirty.append(("topic", after.topic))
        if not after.has_state and after.leader == LEADER_DURING_DELETE:
            # A partition without a state key is checked to have none; its empty parent, if any, is deleted.
            dirty.append(("parent", (after.topic, after.partition)))
        return dirty

    @property
    def grew(self) -> Replicas:
        """The members of T by which R grew. R of a moving partition can be derived from T and the ISR, so the topic
        key, which holds the whole topic, is written later for them."""
        via = self.via
        if via is None or via.move is None:
            return ()
        return tuple(b for b in via.move.target if b in via.isr and b not in via.replicas)

    @property
    def needs_state_key(self) -> bool:
        """Whether the state key holds something of the change: not of growth alone."""
        return self.via is not self.before or self.after.move is None

    @property
    def needs_topic_key(self) -> bool:
        """Whether the topic key must hold the change in the same commit."""
        before, first, after = self.before, self.first, self.after
        if self._loses_grown():
            return True
        if self.is_found or _is_removed(after):
            return after is not first and self.ended is not None
        if self.ended is not None or first.replicas != before.replicas:
            return True
        # The growth of R under the old T cannot be derived from a new one; a new deadline alone does not matter.
        return before.move is not None and before.target_replicas != first.target_replicas

    def _loses_grown(self) -> bool:
        """Whether a member by which R grew leaves the ISR: the loader derives the growth of R only from T and the ISR,
        and would lose it."""
        before, first = self.before, self.first
        move = first.move
        if move is None or before.isr is first.isr:
            return False
        return any(b not in first.isr and b in first.replicas and b not in move.origin for b in before.isr)

    # --- the brokers

    @property
    def must_obey(self) -> bool:
        """Whether the replicas get a LeaderAndIsr request: every change that they must obey raises the leader epoch.
        Those of a stopped partition are informed by StopReplica."""
        if self.after.leader == LEADER_DURING_DELETE:
            return False
        return self.is_found or self.before.leader_epoch != self.after.leader_epoch

    def publish(self, to: Publication, token: int) -> None:
        before, after = self.before, self.after
        if before.has_state and not after.has_state:
            to.forget_reports(before.topic, before.partition, (*before.members, *before.isr))
            return
        to.partition(token, must_obey=self.must_obey)
        if after.move is not None and (after.move is not before.move or self.is_found):
            to.moving(after)
        if not before.has_state and after.has_state and not self.is_found and to.state.rows[token] is not None:
            to.created(token, after.isr)

    # --- the journal

    def lines(self, context: LineContext) -> Iterator[str]:
        for step in self.steps():
            after, detail = step.after, ""
            # A row without a move may be the one that ends it: it has the origin of the move.
            move = after.move or step.before.move
            origin = None if move is None else move.origin
            now = values(after, context.topic_id(after.topic), context.partition_epoch(after), origin)
            if step.event == "TargetCleared":
                detail = _ended(step, context)
            elif step.event in _WITH_DEADLINE and move is not None and move.deadline_ms is not None:
                detail = f'{{"deadline_ms":{move.deadline_ms}}}'
            yield context.line(step.event, now, detail, step.cause)

    def steps(self) -> Iterator[Step]:
        before, first, via, after = self.before, self.first, self.via, self.after
        if via is not None and via.move is None:
            yield Step("TargetCleared", before, via, "offline" if after.is_offline else "topic deleted")
            before, first = via, after
        if first is not before and (event := self._event(before, first)) is not None:
            yield Step(event, before, first, self.cause)
        if via is not None and via.move is not None:
            yield from self._advance(via, after, via.move)

    def _event(self, before: Partition, first: Partition) -> str | None:
        if self.is_found:
            return "ForeignChange"
        if _is_removed(first):
            return None
        if before.move is not first.move:
            if first.move is None:
                return "TargetCleared"
            return "TargetSet" if before.move is None else "TargetReplaced"
        if before.status_code != first.status_code:
            return "StatusChanged"
        if before.leader != first.leader or not before.has_state:
            return "LeaderElected"
        if before.isr != first.isr or before.leader_recovery_state != first.leader_recovery_state:
            return "IsrChanged"
        if before.replicas != first.replicas:
            return "ReplicasChanged"
        return None if before.leader_epoch == first.leader_epoch else "LeaderElected"

    def _advance(self, via: Partition, after: Partition, move: Move) -> Iterator[Step]:
        """How the move went on, in the order of KIP-455."""
        now = via
        if joined := self.grew:
            grown = via.but(replicas=(*via.replicas, *joined))
            yield Step("ReplicasGrown", now, grown, None)
            now = grown
        if after.move is not None:
            return
        led = now.but(replicas=move.target, leader=after.leader, leader_epoch=after.leader_epoch)
        yield Step("ReplicasChanged", now, led, COMPLETED)
        cleared = led.but(move=None)
        yield Step("TargetCleared", led, cleared, COMPLETED)
        if cleared.isr != after.isr:
            yield Step("IsrShrunk", cleared, after, None)


def _is_removed(partition: Partition) -> bool:
    """Whether it is stopped for the deletion of its topic, or its state key is gone, too. Not in the journal."""
    return partition.leader == LEADER_DURING_DELETE


def _ended(step: Step, context: LineContext) -> str:
    move = step.before.move
    started_ms = context.ts_ms if move is None else move.started_ms
    copied = "" if context.bytes_copied is None else f'"bytes_copied":{context.bytes_copied},'
    # Another controller, whose clock was ahead of this one's, may have started the move.
    return f'{{{copied}"duration_ms":{max(0, context.ts_ms - started_ms)}}}'
