"""The expiry of committed offsets (KIP-211), and of groups that have none.

Rules (Kafka's)
* The offsets of a group of members expire when it was empty for `offsets_retention_ms`.
* While it has members, offsets of topics to which none of them subscribes expire that long after they were committed.
  If a subscription cannot be read, none does.
* The offsets of clients that use no group protocol expire that long after they were committed.
* In a group of the consumer protocol, offsets of topics to which no member subscribes expire that long after they were
  committed.
* An empty group without offsets is removed.
* This is checked every `offsets_check_ms`. What expires is removed at once, and deleted from the log without waiting:
  if that fails, it expires again when the log is loaded.
"""

from __future__ import annotations

from ..model.values import TopicPartition
from .consumer import converting
from .group import CONSUMER, Group
from .records import GroupRecord, OffsetRecord, Record
from .replies import State
from .turn import Turn, Unawaited


def expire(turn: Turn, group: Group) -> None:
    """Remove what is expired. A group of which nothing remains is blank afterwards."""
    unstable = group.unstable
    gone = [tp for tp in group.offsets if tp not in unstable and _is_expired(turn, group, tp)]
    for tp in gone:
        group.forget(tp)
    records: list[Record] = [OffsetRecord(group.group_id, tp, None) for tp in gone]
    is_unused = group.state is State.EMPTY and not (group.pending or group.has_offsets)
    if is_unused and group.generation:
        group.generation = 0
        records.append(GroupRecord(group.group_id, None))
    if group.consumer is not None and not (group.has_members or group.has_offsets):
        converting.dropped(group)
    if records:
        turn.append(records, Unawaited(group))


def _is_expired(turn: Turn, group: Group, tp: TopicPartition) -> bool:
    committed_ms = group.offsets[tp].committed.commit_ms
    before_ms = turn.now_ms - turn.settings.offsets_retention_ms
    if group.consumer is not None:
        return tp.topic not in group.consumer.subscribed and committed_ms <= before_ms
    if group.protocol_type is None:
        return committed_ms <= before_ms
    if group.state is State.EMPTY:
        return (group.state_ms if group.state_ms >= 0 else committed_ms) <= before_ms
    is_read = group.protocol_type == CONSUMER and group.state is State.STABLE and group.topics is not None
    return is_read and tp.topic not in (group.topics or ()) and committed_ms <= before_ms
