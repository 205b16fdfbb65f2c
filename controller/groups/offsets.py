"""OffsetCommit, OffsetFetch and OffsetDelete.

An offset is valid when its record is committed; until then OffsetFetch returns the former one. Appends are committed in
their order, so the later of two remains.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import attrs

from ..coordinators import CoordinatorError
from ..coordinators.turn import Answered, Ticket
from ..model.logs import NO_PRODUCER
from ..model.values import TopicPartition
from . import growing
from .consumer.state import ConsumerGroup
from .consumer.values import Partitions
from .group import CONSUMER, CommittedAt, Group
from .records import Committed, OffsetRecord
from .replies import FetchedOffsets, OffsetErrors, State
from .requests import Commit, DeleteOffsets, FetchOffsets
from .turn import Turn, Unawaited, fence_generation

_RESTORED: Final = -(2**62)  # in place of the number of an append


@attrs.define(eq=False)
class _Committing:
    """Waits until offsets are written. `errors`: those of the partitions that were refused. `grown`: by how many bytes
    the group may grow, which count from now on, since many commits may wait at once. `producer_id`: whose transaction
    they belong to, -1 without one."""

    group: Group
    offsets: dict[TopicPartition, Committed]
    errors: dict[TopicPartition, CoordinatorError]
    ticket: Ticket
    grown: int
    producer_id: int = NO_PRODUCER
    number: int = 0

    def done(self, turn: Turn, error: CoordinatorError) -> None:
        """Make the offsets valid, unless those of a later append are."""
        self.group.wrote(self.offsets)
        self.group.writing_bytes -= self.grown
        for tp, committed in self.offsets.items() if not error else ():
            present = self.group.offsets.get(tp)
            if self.producer_id != NO_PRODUCER:
                self.group.commit_later(self.producer_id, tp, CommittedAt(self.number, committed))
            elif present is None or present.number < self.number:
                self.group.commit(tp, CommittedAt(self.number, committed))
        turn.reply(self.ticket, OffsetErrors(self.errors | dict.fromkeys(self.offsets, error)))


def commit(turn: Turn, group: Group, asked: Commit, ticket: Ticket) -> None:
    """Commit offsets. The answer follows when they are written."""
    error = commit_flaw(turn, group, asked)
    if not error and group.state is State.COMPLETING and asked.producer is None:
        error = CoordinatorError.REBALANCE_IN_PROGRESS
    if error:
        turn.reply(ticket, OffsetErrors(dict.fromkeys(asked.offsets, error)))
        return
    if asked.member_id in group.members:
        turn.heard_of(group.members[asked.member_id])
    room = turn.settings.metadata_bytes_max
    errors = {
        tp: CoordinatorError.OFFSET_METADATA_TOO_LARGE
        for tp, c in asked.offsets.items()
        if len(c.metadata.encode()) > room
    }
    errors |= dict.fromkeys(asked.unknown, CoordinatorError.UNKNOWN_TOPIC_OR_PARTITION)
    kept = {tp: _stamped(c, turn.now_ms) for tp, c in asked.offsets.items() if tp not in errors}
    if not kept:
        turn.reply(ticket, OffsetErrors(errors))
        return
    group.writing.update(kept.keys())
    producer = asked.producer
    producer_id = NO_PRODUCER if producer is None else producer.producer_id
    waiting = _Committing(group, kept, errors, ticket, growing.growth(group, asked), producer_id)
    group.writing_bytes += waiting.grown
    records = [OffsetRecord(group.group_id, tp, found) for tp, found in kept.items()]
    waiting.number = turn.append(records, waiting, producer)


def _stamped(committed: Committed, now_ms: int) -> Committed:
    return committed if committed.commit_ms else attrs.evolve(committed, commit_ms=now_ms)


def commit_flaw(turn: Turn, group: Group, asked: Commit) -> CoordinatorError:
    """Why the client may not commit. A client without a group protocol may while the group has no members."""
    if group.consumer is not None and (asked.generation >= 0 or group.has_members):
        named = frozenset((tp.topic, tp.partition) for tp in asked.offsets)
        return _consumer_flaw(group.consumer, asked, turn.topics.by_names(named))
    if asked.generation < 0 and group.state is State.EMPTY:
        return CoordinatorError.NONE
    if asked.generation >= 0 or asked.member_id or asked.instance_id is not None:
        return fence_generation(group, asked.member_id, asked.instance_id, asked.generation)
    # Old producers name no member when they commit offsets in a transaction.
    is_allowed = group.state is State.EMPTY or asked.producer is not None
    return CoordinatorError.NONE if is_allowed else CoordinatorError.UNKNOWN_MEMBER_ID


def _consumer_flaw(consumer: ConsumerGroup, asked: Commit, partitions: Partitions) -> CoordinatorError:
    """A member may commit with a former epoch what it has had since (KIP-1251)."""
    if asked.producer is not None and asked.generation < 0 and not asked.member_id and asked.instance_id is None:
        return CoordinatorError.NONE  # old producers name no member
    member = consumer.members.get(asked.member_id)
    if member is None:
        return CoordinatorError.UNKNOWN_MEMBER_ID
    epoch, present = asked.generation, member.current.epoch
    had = all(member.since.get(tp, present) <= epoch for tp in partitions)
    if epoch == present or (had and 0 <= epoch < present):
        return CoordinatorError.NONE
    is_stale = member.said.classic is None and asked.producer is None
    return CoordinatorError.STALE_MEMBER_EPOCH if is_stale else CoordinatorError.ILLEGAL_GENERATION


def restore(group: Group, tp: TopicPartition, committed: Committed) -> None:
    """Restore an offset from its record. Any append replaces it."""
    group.commit(tp, CommittedAt(_RESTORED, committed))


def restore_transactional(group: Group, record: OffsetRecord, committed: Committed, place: int) -> None:
    """Restore an offset in an open transaction. It was written after the one that is valid; `place`: in the order of
    the log, from 1 up."""
    group.commit_later(record.producer_id, record.tp, CommittedAt(_RESTORED + place, committed))


def fetched(group: Group | None, asked: FetchOffsets) -> FetchedOffsets | Answered:
    """The committed offsets of the requested partitions."""
    if group is not None and group.consumer is not None and asked.member_id is not None:
        member = group.consumer.members.get(asked.member_id)
        if member is None:
            return Answered(CoordinatorError.UNKNOWN_MEMBER_ID)
        if member.current.epoch != asked.epoch:
            return Answered(CoordinatorError.STALE_MEMBER_EPOCH)
    held = {} if group is None else group.offsets
    unstable = {} if group is None or not asked.requires_stable else group.unstable
    wanted = tuple(held | unstable) if asked.wanted is None else asked.wanted
    found = {tp: held[tp].committed if tp in held and tp not in unstable else None for tp in wanted}
    return FetchedOffsets(found, frozenset(unstable).intersection(wanted))


# --- deleting


def forget(turn: Turn, group: Group, before_ms: Mapping[TopicPartition, int]) -> None:
    """Drop at once what was committed before these times: a consumer would begin at a wrong record."""
    held = {tp: group.offsets[tp].committed.commit_ms for tp in before_ms if tp in group.offsets}
    gone = [tp for tp, committed_ms in held.items() if committed_ms < before_ms[tp]]
    for tp in gone:
        group.forget(tp)
    for tp, ms in before_ms.items():
        group.drop_transactional(tp, lambda offset, ms=ms: offset.committed.commit_ms < ms)  # type: ignore[misc]
    if gone:
        turn.append([OffsetRecord(group.group_id, tp, None) for tp in gone], Unawaited(group))


@attrs.define(eq=False)
class _Forgetting:
    """Waits until the deletion of offsets is written."""

    group: Group
    partitions: Sequence[TopicPartition]
    errors: dict[TopicPartition, CoordinatorError]
    ticket: Ticket
    number: int = 0

    def done(self, turn: Turn, error: CoordinatorError) -> None:
        """Remove the offsets, except for those that were committed later."""
        if not error:
            for tp in self.partitions:
                present = self.group.offsets.get(tp)
                if present is not None and present.number < self.number:
                    self.group.forget(tp)
                self.group.drop_transactional(tp, lambda offset: offset.number < self.number)
        turn.reply(self.ticket, OffsetErrors(self.errors | dict.fromkeys(self.partitions, error)))


def delete(turn: Turn, group: Group, asked: DeleteOffsets, ticket: Ticket) -> None:
    """Delete offsets of topics that no member subscribes to. A group of another protocol type must have no members."""
    is_empty = not group.has_members
    topics = group.topics if group.consumer is None else group.consumer.subscribed
    if not is_empty and group.consumer is None and group.protocol_type != CONSUMER:
        turn.reply(ticket, Answered(CoordinatorError.NON_EMPTY_GROUP))
        return
    subscribed = [tp for tp in asked.partitions if not is_empty and (topics is None or tp.topic in topics)]
    errors = dict.fromkeys(subscribed, CoordinatorError.GROUP_SUBSCRIBED_TO_TOPIC)
    errors |= dict.fromkeys(asked.unknown, CoordinatorError.UNKNOWN_TOPIC_OR_PARTITION)
    free = [tp for tp in asked.partitions if tp not in errors]
    unstable = group.unstable
    held = [tp for tp in free if tp in group.offsets or tp in unstable]
    if not held:
        turn.reply(ticket, OffsetErrors(errors | dict.fromkeys(free, CoordinatorError.NONE)))
        return
    waiting = _Forgetting(group, free, errors, ticket)
    waiting.number = turn.append([OffsetRecord(group.group_id, tp, None) for tp in held], waiting)
