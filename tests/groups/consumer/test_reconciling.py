"""The way of a member from what it has to its target."""

from __future__ import annotations

import attrs
import pytest

from kedge.controller.groups.consumer.reconciling import may_get_more, reconciled
from kedge.controller.groups.consumer.state import ConsumerGroup, ConsumerMember
from kedge.controller.groups.consumer.values import Current, MemberState, Partitions
from tests.groups.consumer.driving import of

STABLE, UNREVOKED, UNRELEASED = MemberState
EPOCH = 10


def some(numbers: str) -> Partitions:
    return of("orders", *map(int, numbers))


@attrs.frozen
class Case:
    """A member of epoch `epoch` in a group of epoch 11, whose target has epoch 10. Partitions are digits. `others`:
    owned by another member. The result is epoch, state, assigned and revoking."""

    name: str
    state: MemberState
    epoch: int
    assigned: str
    revoking: str
    target: str
    owned: str | None
    others: str
    result: tuple[int, MemberState, str, str]


CASES = [
    Case("has all", STABLE, 10, "12", "", "12", "12", "", (10, STABLE, "12", "")),
    Case("has all of its epoch whatever the target", STABLE, 10, "12", "", "34", "12", "", (10, STABLE, "12", "")),
    Case("only the epoch is new", STABLE, 9, "12", "", "12", None, "", (10, STABLE, "12", "")),
    Case("joins", STABLE, 0, "", "", "12", "", "", (10, STABLE, "12", "")),
    Case("gets more", STABLE, 9, "12", "", "123", "12", "", (10, STABLE, "123", "")),
    Case("revokes", STABLE, 9, "12", "", "23", "12", "", (9, UNREVOKED, "2", "1")),
    Case("revokes what it does not mention", STABLE, 9, "12", "", "23", None, "", (9, UNREVOKED, "2", "1")),
    Case("owns nothing to revoke", STABLE, 9, "12", "", "23", "2", "", (10, STABLE, "23", "")),
    Case("waits for others", STABLE, 9, "12", "", "1234", "12", "34", (10, UNRELEASED, "12", "")),
    Case("gets a part of it", STABLE, 9, "12", "", "1234", "12", "4", (10, UNRELEASED, "123", "")),
    Case("owns nothing to revoke, and waits", STABLE, 9, "12", "", "23", "2", "3", (10, UNRELEASED, "2", "")),
    Case("has not revoked yet", UNREVOKED, 9, "2", "1", "23", "12", "", (9, UNREVOKED, "2", "1")),
    Case("has not said that it revoked", UNREVOKED, 9, "2", "1", "23", None, "", (9, UNREVOKED, "2", "1")),
    Case("has revoked a part of it", UNREVOKED, 9, "2", "15", "23", "25", "", (9, UNREVOKED, "2", "15")),
    Case("revokes whatever the new target", UNREVOKED, 9, "2", "1", "12", "12", "", (9, UNREVOKED, "2", "1")),
    Case("has revoked", UNREVOKED, 9, "2", "1", "23", "2", "", (10, STABLE, "23", "")),
    Case("gets again what it revoked", UNREVOKED, 9, "2", "1", "12", "2", "", (10, STABLE, "12", "")),
    Case("has revoked, and waits", UNREVOKED, 9, "2", "1", "23", "2", "3", (10, UNRELEASED, "2", "")),
    Case("has to revoke more", UNREVOKED, 7, "23", "1", "3", "23", "", (8, UNREVOKED, "3", "2")),
    Case("has revoked more than it had to", UNREVOKED, 7, "23", "1", "3", "3", "", (10, STABLE, "3", "")),
    Case("all is released", UNRELEASED, 10, "1", "", "12", "1", "", (10, STABLE, "12", "")),
    Case("a part is released", UNRELEASED, 10, "1", "", "123", None, "3", (10, UNRELEASED, "12", "")),
    Case("nothing is released", UNRELEASED, 10, "1", "", "12", "1", "2", (10, UNRELEASED, "1", "")),
    Case("waits for less", UNRELEASED, 9, "1", "", "1", "1", "2", (10, STABLE, "1", "")),
    Case("waits, and has to revoke", UNRELEASED, 9, "12", "", "1", "12", "3", (9, UNREVOKED, "1", "2")),
]


def member_of(case: Case) -> tuple[ConsumerGroup, ConsumerMember]:
    group = ConsumerGroup(EPOCH + 1, target_epoch=EPOCH)
    member, other = group.member("a"), group.member("b")
    current = Current(case.epoch, case.epoch - 1, case.state, some(case.assigned), some(case.revoking))
    group.own(member, current)
    group.own(other, Current(EPOCH, assigned=some(case.others)))
    member.target = some(case.target)
    return group, member


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_next_step_of_a_member(case: Case) -> None:
    """It stays in its epoch until it has revoked, and then gets what no other member owns. Its former epoch is that of
    before the step."""
    group, member = member_of(case)
    before = member.current
    after = reconciled(group, member, None if case.owned is None else some(case.owned))
    epoch, state, assigned, revoking = case.result
    former = before.previous_epoch if after == before else before.epoch
    assert after == Current(epoch, former, state, some(assigned), some(revoking))


@pytest.mark.parametrize(
    "state, others, expected", [(UNRELEASED, "", True), (UNRELEASED, "3", False), (STABLE, "", False)]
)
def test_waiting_member_may_get_more(state: MemberState, others: str, expected: bool) -> None:
    """Once all that it waits for is released. One that revokes does not wait."""
    group, member = member_of(Case("", state, 10, "1", "", "123", None, others, (0, STABLE, "", "")))
    assert may_get_more(group, member) is expected


def test_member_that_waits_for_nothing_may_get_more() -> None:
    """It is stable with its next request."""
    group, member = member_of(Case("", UNRELEASED, 9, "12", "", "1", None, "", (0, STABLE, "", "")))
    assert may_get_more(group, member)


def test_partition_that_another_member_has_stays_there() -> None:
    """When the one that owned it before gives it back late."""
    group, member = member_of(Case("", STABLE, 10, "12", "", "12", None, "2", (0, STABLE, "", "")))
    group.own(member, Current(10))
    assert group.owners == dict.fromkeys(some("2"), "b")
