"""ConsumerGroupHeartbeat: a member joins, stays or leaves (KIP-848).

Rules (Kafka's)
* Epoch 0 joins, -1 leaves, -2 is a static member that will be back. Any other epoch must be the member's, or its former
  one as long as it owns nothing that it may not: the answer with the present one may be lost.
* The assignment is in an answer if the member sent all that it has to say, or if it has changed.
"""

from __future__ import annotations

from typing import Final

import attrs

from ...coordinators import CoordinatorError
from ...coordinators.turn import Ticket
from ..group import Group
from ..replies import ConsumerHeartbeated, refused
from ..requests import ConsumerHeartbeat
from ..turn import Turn
from .assigning import ASSIGNORS
from .converting import of_consumers, upgrade
from .members import follow, heard_of, leave, replace
from .state import ConsumerGroup, ConsumerMember
from .values import LEFT_FOR_A_WHILE, NONE, Kind, Resolved
from .writes import Answer

LEAVES: Final = -1
_FIELDS: Final = ("instance_id", "rack", "topics", "regex", "assignor")


def flaw(asked: ConsumerHeartbeat) -> ConsumerHeartbeated | None:
    """The answer to a request that no member may send."""
    message = _message(asked)
    if message is not None:
        return ConsumerHeartbeated(CoordinatorError.INVALID_REQUEST, asked.member_id, message=message)
    if asked.assignor is None or asked.assignor in ASSIGNORS:
        return None
    message = f"the assignor {asked.assignor!r:.100} is not supported, only {', '.join(ASSIGNORS)}"
    return ConsumerHeartbeated(CoordinatorError.UNSUPPORTED_ASSIGNOR, asked.member_id, message=message)


def _message(asked: ConsumerHeartbeat) -> str | None:
    for name in ("group", "instance_id", "rack"):
        value = getattr(asked, name)
        if value is not None and not value.strip():
            return f"{name} must not be empty"
    if not (asked.member_id or (asked.epoch == 0 and asked.fresh_id)):
        return "the member id must not be empty"
    if asked.epoch == LEFT_FOR_A_WHILE:
        return None if asked.instance_id else "epoch -2 needs an instance id"
    if asked.epoch < LEAVES:
        return f"the member epoch must be at least -2, not {asked.epoch}"
    if asked.epoch:
        return None
    if asked.rebalance_timeout_ms < 0:
        return "a member that joins must send its rebalance timeout"
    if asked.owned is None or asked.owned:
        return "a member that joins must send an empty list of partitions"
    if asked.topics is None and asked.regex is None:
        return "a member that joins must send topics or a regular expression"
    return None


def heartbeat(turn: Turn, group: Group, asked: ConsumerHeartbeat, ticket: Ticket) -> None:
    """Take a heartbeat. The answer waits until what it changed is written."""
    consumer = of_consumers(turn, group, asked)
    if isinstance(consumer, CoordinatorError):
        turn.reply(ticket, refused(asked, consumer))
        return
    found = _found(turn, consumer, asked)
    if isinstance(found, CoordinatorError):
        turn.reply(ticket, refused(asked, found))
        return
    if asked.epoch < 0:
        _leave(turn, group, found, asked)
        reply = ConsumerHeartbeated(CoordinatorError.NONE, found.member_id, asked.epoch)
    else:
        refusal = _resolve(turn, group, consumer, asked)
        if refusal is not None:
            turn.reply(ticket, refusal)
            return
        if consumer is not group.consumer:
            upgrade(turn, group, consumer)
        reply = _stay(turn, group, _back(group, found, asked), asked)
    group.writes.waiting.append(Answer(ticket, reply, asked))


def _stay(turn: Turn, group: Group, member: ConsumerMember, asked: ConsumerHeartbeat) -> ConsumerHeartbeated:
    before = member.current.assigned
    given = {name: getattr(asked, name) for name in _FIELDS if getattr(asked, name) is not None}
    if asked.rebalance_timeout_ms >= 0:
        given["rebalance_timeout_ms"] = asked.rebalance_timeout_ms
    said = attrs.evolve(member.said, client_id=asked.client_id, client_host=asked.client_host, classic=None, **given)
    member.join_ms = member.sync_ms = None
    follow(turn, group, member, said, asked.owned)
    heard_of(turn, member)
    subscribes = asked.topics is not None or asked.regex is not None
    is_full = asked.rebalance_timeout_ms >= 0 and subscribes and asked.owned is not None
    shown = member.current.assigned if is_full or member.current.assigned != before else None
    interval_ms = turn.settings.consumer_heartbeat_interval_ms
    return ConsumerHeartbeated(CoordinatorError.NONE, member.member_id, member.current.epoch, shown, interval_ms)


# --- who sends it


def _found(turn: Turn, consumer: ConsumerGroup, asked: ConsumerHeartbeat) -> ConsumerMember | CoordinatorError:
    """The member, a new one if it joins. It is in the group when `follow` has put it there."""
    member_id = asked.member_id or asked.fresh_id
    member = consumer.members.get(member_id)
    if asked.instance_id is not None:
        found = _static(consumer, asked, asked.instance_id, member_id)
        if isinstance(found, CoordinatorError):
            return found
        member = found or member
    if member is None:
        if asked.epoch != 0:
            return CoordinatorError.UNKNOWN_MEMBER_ID
        is_full = len(consumer.members) >= turn.settings.consumer_members_max
        return CoordinatorError.GROUP_MAX_SIZE_REACHED if is_full else ConsumerMember(member_id)
    return CoordinatorError.FENCED_MEMBER_EPOCH if _is_fenced(member, asked) else member


def _is_fenced(member: ConsumerMember, asked: ConsumerHeartbeat) -> bool:
    current = member.current
    if asked.epoch <= 0 or asked.epoch == current.epoch:
        return False
    is_former = asked.epoch < current.epoch and asked.epoch == current.previous_epoch
    return not is_former or asked.owned is None or not asked.owned <= current.assigned


def _static(
    consumer: ConsumerGroup, asked: ConsumerHeartbeat, instance_id: str, member_id: str
) -> ConsumerMember | CoordinatorError | None:
    """The member with this instance id, maybe under a former id; None if a new one joins."""
    before = consumer.members.get(consumer.static.get(instance_id, ""))
    if before is None:
        return None if asked.epoch == 0 else CoordinatorError.UNKNOWN_MEMBER_ID
    if before.member_id == member_id:
        return before
    if asked.epoch != 0:
        return CoordinatorError.FENCED_INSTANCE_ID
    if before.said.classic is None and before.current.epoch != LEFT_FOR_A_WHILE:
        return CoordinatorError.UNRELEASED_INSTANCE_ID
    return before


def _back(group: Group, found: ConsumerMember, asked: ConsumerHeartbeat) -> ConsumerMember:
    """The member; if a static one is back, under the id that it has now."""
    member_id = asked.member_id or asked.fresh_id
    is_same = found.member_id == member_id and found.current.epoch != LEFT_FOR_A_WHILE
    return found if is_same else replace(group, found, member_id)


# --- regular expressions


def _resolve(turn: Turn, group: Group, consumer: ConsumerGroup, asked: ConsumerHeartbeat) -> ConsumerHeartbeated | None:
    """Evaluate a new expression; and all of them when topics changed, with the rights of the member that comes first,
    as in Kafka. Returns the answer that refuses one."""
    wanted = {asked.regex} - consumer.regexes.keys() if asked.regex else set()
    if consumer.matched is not turn.topics:
        wanted |= consumer.regexes.keys()
    for regex in sorted(wanted):
        try:
            matches = turn.codec.matching(regex)
        except ValueError as flaw:
            error = CoordinatorError.INVALID_REGULAR_EXPRESSION
            return ConsumerHeartbeated(error, asked.member_id, message=str(flaw))
        found = frozenset(name for name in turn.topics.by_name if matches(name) and asked.sees(name))
        present = consumer.regexes.get(regex)
        if present is None or present.topics != found:
            consumer.regexes[regex] = Resolved(found, turn.now_ms)
            consumer.seen = None
            group.writes.mark(Kind.REGEX, regex)
    consumer.matched = turn.topics
    return None


# --- who goes


def _leave(turn: Turn, group: Group, member: ConsumerMember, asked: ConsumerHeartbeat) -> None:
    if asked.epoch != LEFT_FOR_A_WHILE:
        leave(turn, group, [member])
        return
    consumer = group.consumers
    consumer.own(member, attrs.evolve(member.current, epoch=LEFT_FOR_A_WHILE, revoking=NONE))
    member.revoke_ms = None
    group.writes.mark(Kind.CURRENT, member.member_id)
