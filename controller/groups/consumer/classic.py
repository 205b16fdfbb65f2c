"""Members that use the classic protocol in a group of the consumer protocol, while an application changes (KIP-848).

Rules (Kafka's)
* The coordinator assigns to them as to the others. The epoch of a member is its generation.
* A Heartbeat or SyncGroup tells it to join again when there is a new target, when it has to revoke partitions, or when
  those that it waits for are released. It has its rebalance timeout for that, and as long again for SyncGroup.
"""

from __future__ import annotations

from ...coordinators import CoordinatorError
from ...coordinators.turn import Answered, Ticket
from ..group import CONSUMER, Group
from ..records import Subscription
from ..replies import Joined, Left, Synced
from ..requests import Heartbeat, Join, Leave, Sync
from ..turn import Turn
from .converting import downgrade
from .members import follow, heard_of, leave, replace
from .reconciling import may_get_more
from .state import ConsumerGroup, ConsumerMember
from .values import ClassicProtocols, MemberState, Subscriber
from .writes import Answer


def join(turn: Turn, group: Group, asked: Join, ticket: Ticket) -> None:
    """Take the member into the group, or the next step towards its target."""
    consumer = group.consumers
    subscription = turn.codec.subscription(asked.protocols[0][1]) if asked.protocols else None
    found = _joining(turn, consumer, asked)
    if isinstance(found, CoordinatorError):
        turn.reply(ticket, Joined(found, asked.member_id))
    elif subscription is None:
        turn.reply(ticket, Joined(CoordinatorError.INCONSISTENT_GROUP_PROTOCOL, asked.member_id))
    elif not asked.member_id and asked.instance_id is None and asked.requires_member_id:
        turn.reply(ticket, Joined(CoordinatorError.MEMBER_ID_REQUIRED, _new_id(asked)))
    else:
        reply = _join(turn, group, asked, found, subscription)
        group.writes.waiting.append(Answer(ticket, reply, asked))


def _join(turn: Turn, group: Group, asked: Join, found: ConsumerMember, subscription: Subscription) -> Joined:
    is_back = asked.instance_id is not None and not asked.member_id and found.said != Subscriber()
    member = replace(group, found, _new_id(asked)) if is_back else found
    said = Subscriber(
        asked.client_id,
        asked.client_host,
        subscription.topics,
        instance_id=asked.instance_id,
        rack=subscription.rack,
        rebalance_timeout_ms=asked.rebalance_timeout_ms,
        classic=ClassicProtocols(asked.session_timeout_ms, asked.protocols),
    )
    follow(turn, group, member, said, turn.topics.by_names(subscription.owned))
    heard_of(turn, member)
    member.join_ms, member.sync_ms = None, turn.now_ms + asked.rebalance_timeout_ms
    reply = Joined(CoordinatorError.NONE, member.member_id, member.current.epoch, CONSUMER, asked.protocols[0][0])
    if is_back and found.said.classic is None:
        downgrade(turn, group)
    return reply


def _joining(turn: Turn, consumer: ConsumerGroup, asked: Join) -> ConsumerMember | CoordinatorError:
    """The member that joins, under its former id if it is a static one that is back."""
    settings = turn.settings
    if not settings.session_timeout_min_ms <= asked.session_timeout_ms <= settings.session_timeout_max_ms:
        return CoordinatorError.INVALID_SESSION_TIMEOUT
    if asked.protocol_type != CONSUMER or not consumer.supports({name for name, _ in asked.protocols}):
        return CoordinatorError.INCONSISTENT_GROUP_PROTOCOL
    if asked.instance_id is not None:
        before = consumer.members.get(consumer.static.get(asked.instance_id, ""))
        if before is not None:
            is_fenced = asked.member_id not in {"", before.member_id}
            return CoordinatorError.FENCED_INSTANCE_ID if is_fenced else before
        if asked.member_id:
            return CoordinatorError.UNKNOWN_MEMBER_ID
    present = consumer.members.get(asked.member_id)
    if present is not None:
        return present
    if len(consumer.members) >= settings.consumer_members_max:
        return CoordinatorError.GROUP_MAX_SIZE_REACHED
    return ConsumerMember(asked.member_id or _new_id(asked))


def _new_id(asked: Join) -> str:
    return f"{asked.client_id if asked.instance_id is None else asked.instance_id}-{asked.fresh_id}"


# --- members that are there


def sync(turn: Turn, group: Group, asked: Sync, ticket: Ticket) -> None:
    """Answer with the assignment, or with what the member has to do first."""
    found = _classic(group, asked)
    if isinstance(found, ConsumerMember):
        error = _flaw(turn, group, found, asked)
        if not error:
            heard_of(turn, found)
            found.sync_ms = None
            assignment = turn.codec.assignment(turn.topics.named(found.current.assigned))
            reply = Synced(error, asked.protocol_type, asked.protocol, assignment)
            group.writes.waiting.append(Answer(ticket, reply, asked))
            return
        found = error
    turn.reply(ticket, Synced(found))


def _flaw(turn: Turn, group: Group, member: ConsumerMember, asked: Sync) -> CoordinatorError:
    classic = member.said.classic
    assert classic is not None
    if asked.protocol_type not in {None, CONSUMER} or asked.protocol not in {None, classic.protocols[0][0]}:
        return CoordinatorError.INCONSISTENT_GROUP_PROTOCOL
    is_behind = group.consumers.epoch > member.current.epoch
    if is_behind and member.current.state is not MemberState.UNREVOKED_PARTITIONS:
        return _must_join(turn, member)
    return CoordinatorError.NONE


def heartbeat(turn: Turn, group: Group, asked: Heartbeat, ticket: Ticket) -> None:
    """Prolong the session; the answer says whether the member has to join again."""
    found = _classic(group, asked)
    if isinstance(found, ConsumerMember):
        consumer = group.consumers
        heard_of(turn, found)
        is_stale = found.current.epoch < consumer.epoch or found.current.state is MemberState.UNREVOKED_PARTITIONS
        has_to = is_stale or may_get_more(consumer, found)
        found = _must_join(turn, found) if has_to else CoordinatorError.NONE
    group.writes.waiting.append(Answer(ticket, Answered(found), asked))


def _must_join(turn: Turn, member: ConsumerMember) -> CoordinatorError:
    if member.join_ms is None:
        member.join_ms = turn.now_ms + member.said.rebalance_timeout_ms
    return CoordinatorError.REBALANCE_IN_PROGRESS


def _classic(group: Group, asked: Sync | Heartbeat) -> ConsumerMember | CoordinatorError:
    """The member that sends this, if it uses the classic protocol and is in this generation."""
    found = _named(group, asked.member_id, asked.instance_id)
    if isinstance(found, CoordinatorError):
        return found
    if found.said.classic is None:
        return CoordinatorError.UNKNOWN_MEMBER_ID
    return found if found.current.epoch == asked.generation else CoordinatorError.ILLEGAL_GENERATION


def _named(group: Group, member_id: str, instance_id: str | None) -> ConsumerMember | CoordinatorError:
    consumer = group.consumers
    if instance_id is not None and (known_id := consumer.static.get(instance_id)) != (member_id or known_id):
        return CoordinatorError.UNKNOWN_MEMBER_ID if known_id is None else CoordinatorError.FENCED_INSTANCE_ID
    if instance_id is not None and not member_id:
        member_id = consumer.static.get(instance_id, "")
    return consumer.members.get(member_id, CoordinatorError.UNKNOWN_MEMBER_ID)


def leave_group(turn: Turn, group: Group, asked: Leave, ticket: Ticket) -> None:
    """Remove each member that exists; an unknown one does not affect the others. Admin clients also remove members of
    the consumer protocol."""
    found = [(leaving, _named(group, leaving.member_id, leaving.instance_id)) for leaving in asked.members]
    leave(turn, group, [member for _, member in found if isinstance(member, ConsumerMember)])
    errors = [(each, CoordinatorError.NONE if isinstance(m, ConsumerMember) else m) for each, m in found]
    group.writes.waiting.append(Answer(ticket, Left(tuple(errors)), asked))
