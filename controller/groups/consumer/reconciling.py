"""The way of a member from what it has to its target assignment (KIP-848).

Rules (Kafka's)
* A member first revokes what it shall not have. Until it says that it did, it stays in its epoch.
* Then it gets, under the epoch of the target, what no other member owns. The rest follows when that is released.
* So a partition has one owner at most.
"""

from __future__ import annotations

import attrs

from .state import ConsumerGroup, ConsumerMember
from .values import NONE, Current, MemberState, Partitions


def reconciled(group: ConsumerGroup, member: ConsumerMember, owned: Partitions | None) -> Current:
    """What the member may use next. `owned`: what it says that it owns, None if it says nothing."""
    current = member.current
    if current.state is MemberState.STABLE:
        return current if current.epoch == group.target_epoch else _next(group, member, owned, current.epoch)
    if current.state is MemberState.UNRELEASED_PARTITIONS:
        return _next(group, member, owned, current.epoch)
    if owned is None or owned & current.revoking:
        return current
    return _next(group, member, owned, current.epoch + 1)


def _next(group: ConsumerGroup, member: ConsumerMember, owned: Partitions | None, epoch: int) -> Current:
    """`epoch`: under which it stays while it has to revoke."""
    current, target = member.current, member.target
    kept, revoking = current.assigned & target, current.assigned - target
    if revoking and (owned is None or owned & revoking):
        return _moved(current, epoch, MemberState.UNREVOKED_PARTITIONS, kept, revoking)
    wanted = target - kept
    free = group.free(member, wanted)
    state = MemberState.STABLE if free == wanted else MemberState.UNRELEASED_PARTITIONS
    return _moved(current, group.target_epoch, state, kept | free)


def _moved(
    current: Current, epoch: int, state: MemberState, assigned: Partitions, revoking: Partitions = NONE
) -> Current:
    return attrs.evolve(
        current, epoch=epoch, previous_epoch=current.epoch, state=state, assigned=assigned, revoking=revoking
    )


def may_get_more(group: ConsumerGroup, member: ConsumerMember) -> bool:
    """Whether partitions that the member waits for are released."""
    if member.current.state is not MemberState.UNRELEASED_PARTITIONS:
        return False
    wanted = member.target - member.current.assigned
    return group.free(member, wanted) == wanted
