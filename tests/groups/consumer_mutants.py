"""The consumer protocol broken on purpose: each must show in some of the first seeds."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

import attrs

from kedge.controller.coordinators import CoordinatorError
from kedge.controller.groups import offsets
from kedge.controller.groups.consumer import classic, converting, heartbeats, members, reconciling, writing
from kedge.controller.groups.consumer.state import ConsumerGroup, ConsumerMember
from kedge.controller.groups.consumer.values import ConsumerRecord, Current, Kind, MemberState, Partitions
from kedge.controller.groups.consumer.writes import Writes
from kedge.controller.groups.coordinator import Coordinator
from kedge.controller.groups.group import Group
from kedge.controller.server.groups import LiveGroups
from kedge.controller.wire.groups import GroupRecords
from tests.simulation.mutant import Breaks, Patch


def owned_is_free(patch: Patch) -> None:
    """A partition is given out while another member owns it."""
    patch.setattr(ConsumerGroup, "free", lambda _, __, partitions: partitions)


def revoking_is_free(patch: Patch) -> None:
    """What a member still has to revoke is given out."""
    patch.setattr(Current, "owned", property(lambda current: current.assigned))


def nothing_is_revoked_first(patch: Patch) -> None:
    """A member loses partitions without saying that it has revoked them."""
    right = reconciling._next  # noqa: SLF001 - the rule itself is broken

    def next_(group: ConsumerGroup, member: ConsumerMember, owned: Partitions | None, epoch: int) -> Current:
        return right(group, member, frozenset() if owned is None or owned else owned, epoch)

    patch.setattr(reconciling, "_next", next_)


def silence_is_a_revocation(patch: Patch) -> None:
    """A heartbeat without partitions counts as one that has none."""
    right = reconciling.reconciled
    patch.setattr(members, "reconciled", lambda group, member, owned: right(group, member, owned or frozenset()))


def commits_of_old_epochs(patch: Patch) -> None:
    """A member that was removed, or is behind, commits offsets."""
    patch.setattr(offsets, "_consumer_flaw", lambda *_: CoordinatorError.NONE)


def answers_do_not_wait(patch: Patch) -> None:
    """Members hear what is not in the log yet."""
    right = writing.write

    def write(turn: Any, group: Group) -> None:
        for answer in group.writes.waiting:
            turn.reply(answer.ticket, answer.reply)
        group.writes.waiting = []
        right(turn, group)

    patch.setattr(writing, "write", write)


def current_is_not_written(patch: Patch) -> None:
    """The next coordinator does not know who owns what."""
    right = Writes.mark
    patch.setattr(Writes, "mark", lambda self, kind, name="": None if kind is Kind.CURRENT else right(self, kind, name))


def revocations_are_not_loaded(patch: Patch) -> None:
    """The next coordinator does not know what is still to be revoked."""
    right = GroupRecords.decode

    def decode(self: GroupRecords, batches: Any) -> Any:
        return [_without_revoking(record) for record in right(self, batches)]

    patch.setattr(GroupRecords, "decode", decode)


def _without_revoking(record: Any) -> Any:
    if isinstance(record, ConsumerRecord) and isinstance(record.value, Current):
        return attrs.evolve(record, value=attrs.evolve(record.value, revoking=frozenset()))
    return record


def deaths_are_not_noticed(patch: Patch) -> None:
    """Members that died stay."""
    patch.setattr(members, "expire", lambda *_: None)


def slow_members_stay(patch: Patch) -> None:
    """A member may take as long as it likes to revoke."""
    right = members.own

    def own(turn: Any, group: Group, member: ConsumerMember, current: Current) -> None:
        right(turn, group, member, current)
        member.revoke_ms = None

    patch.setattr(members, "own", own)


def nothing_follows_a_death(patch: Patch) -> None:
    """The partitions of a member that is gone have no new owner."""
    patch.setattr(members, "_raise_epoch", lambda *_: None)


def waiting_members_wait_on(patch: Patch) -> None:
    """A member does not get what was released later."""
    right = reconciling.reconciled

    def reconciled(group: ConsumerGroup, member: ConsumerMember, owned: Partitions | None) -> Current:
        is_waiting = member.current.state is MemberState.UNRELEASED_PARTITIONS
        return member.current if is_waiting else right(group, member, owned)

    patch.setattr(members, "reconciled", reconciled)


def classic_members_are_not_called(patch: Patch) -> None:
    """A member of the classic protocol does not hear that it has to join again."""
    patch.setattr(classic, "_must_join", lambda *_: CoordinatorError.NONE)


def upgrade_without_partitions(patch: Patch) -> None:
    """A group that changes its protocol forgets who owns what."""
    right = converting._consumer  # noqa: SLF001 - the rule itself is broken

    def consumer(turn: Any, group: Group, member: Any) -> ConsumerMember | None:
        found = right(turn, group, member)
        if found is not None:
            found.target, found.current = frozenset(), attrs.evolve(found.current, assigned=frozenset())
        return found

    patch.setattr(converting, "_consumer", consumer)


def static_members_keep_their_epoch(patch: Patch) -> None:
    """A static member that is back goes on under the epoch of its former self."""
    patch.setattr(heartbeats, "_back", lambda _, found, __: found)


def new_partitions_are_not_seen(patch: Patch) -> None:
    """A topic that grows has partitions without an owner."""
    right = LiveGroups._topics_by  # noqa: SLF001 - the rule itself is broken
    first: dict[int, Any] = {}
    patch.setattr(LiveGroups, "_topics_by", lambda self, led: first.setdefault(id(self), right(self, led)))


def no_epochs_are_loaded(patch: Patch) -> None:
    """The next coordinator begins with epoch 0."""
    right = GroupRecords.decode

    def decode(self: GroupRecords, batches: Any) -> Any:
        found = right(self, batches)
        return [r for r in found if not (isinstance(r, ConsumerRecord) and r.kind in {Kind.GROUP, Kind.TARGET_EPOCH})]

    patch.setattr(GroupRecords, "decode", decode)


def uncommitted_is_loaded_by_none(patch: Patch) -> None:
    """A coordinator that is loaded knows no member."""
    right = Coordinator._restore  # noqa: SLF001 - the rule itself is broken

    def restore(self: Coordinator, turn: Any, records: Any) -> None:
        right(self, turn, [record for record in records if not isinstance(record, ConsumerRecord)])

    patch.setattr(Coordinator, "_restore", restore)


MUTANTS: Final[Mapping[str, Breaks]] = MappingProxyType(
    {
        each.__name__: each
        for each in (
            owned_is_free,
            revoking_is_free,
            nothing_is_revoked_first,
            silence_is_a_revocation,
            commits_of_old_epochs,
            answers_do_not_wait,
            current_is_not_written,
            revocations_are_not_loaded,
            deaths_are_not_noticed,
            slow_members_stay,
            nothing_follows_a_death,
            waiting_members_wait_on,
            classic_members_are_not_called,
            upgrade_without_partitions,
            static_members_keep_their_epoch,
            new_partitions_are_not_seen,
            no_epochs_are_loaded,
            uncommitted_is_loaded_by_none,
        )
    }
)
