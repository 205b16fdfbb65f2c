"""Clients that leave behind in the coordinator as much as they can: ids, groups, metadata, offsets."""

from __future__ import annotations

import tracemalloc
from typing import Any, Final

import pytest

from kedge.controller.coordinators import CoordinatorError
from kedge.controller.coordinators.held import MUCH_SHARE, SHARE
from kedge.controller.groups import held
from kedge.controller.groups.joining import UNUSED_ID_MS
from kedge.controller.groups.records import Committed
from kedge.controller.groups.replies import Joined, Synced
from kedge.controller.groups.requests import Commit, DeleteGroup, Join, Leave, Leaving, Sync
from kedge.controller.model.values import TopicPartition
from tests.groups.driving import REBALANCE_MS, TP, Driven

MIB: Final = 1024 * 1024
LONGEST_MS: Final = 1_800_000
"""The session timeout of a client that wants to stay for as long as it can."""


def join(driven: Driven, group: str, number: int = 0, **fields: Any) -> Joined:
    """A new member that gets an id; it has the longest name that there is."""
    named = {"client_id": "x" * 30_000, "requires_member_id": True, **fields}
    protocols = named.pop("protocols", (("range", b""),))
    answer: Joined = driven.ask(Join(group, "", f"{number}", "consumer", protocols, LONGEST_MS, REBALANCE_MS, **named))
    return answer


def flood(driven: Driven) -> int:
    """Joins of ever new groups, until the smallest is refused; returns how many were not."""
    count = 0
    for client_id in ("x" * 30_000, "x"):
        while (
            error := join(driven, f"g{count}", count, client_id=client_id).error
        ) is CoordinatorError.MEMBER_ID_REQUIRED:
            count += 1
            assert count < 1000
        assert error is CoordinatorError.COORDINATOR_NOT_AVAILABLE
    return count


# --- all groups together


def test_invented_groups_are_bounded_and_their_memory_is_back_after_a_minute() -> None:
    driven = Driven(held_bytes_max=MIB)
    before = driven.coordinator.held.bytes
    assert 10 < flood(driven) < 60
    assert before < driven.coordinator.held.bytes <= MIB
    driven.wait(UNUSED_ID_MS)
    assert driven.coordinator.held.bytes == before
    assert driven.join("late", requires_member_id=True).error is CoordinatorError.MEMBER_ID_REQUIRED


def test_who_is_there_goes_on_while_others_leave_no_room() -> None:
    """With heartbeats and rebalances, and metadata and assignments that grow a little."""
    driven = Driven(held_bytes_max=MIB)
    ids = driven.stable("a", "b")
    flood(driven)
    generation = driven.coordinator.groups["g"].generation
    assert driven.beat(ids["a"], generation) is CoordinatorError.NONE
    for who in "ab":
        driven.join(who, ids[who], protocols=[("range", b"orders,payments")])
    assert driven.heard["a"].error is driven.heard["b"].error is CoordinatorError.NONE
    generation += 1
    assert driven.sync("a", ids["a"], generation, a=b"1" * 500, b=b"2" * 500) == Synced(
        CoordinatorError.NONE, "consumer", "range", b"1" * 500
    )


def test_offsets_that_are_there_are_committed_again_while_others_leave_no_room() -> None:
    driven = Driven(held_bytes_max=MIB)

    def commit(offset: int, topic: str = "orders", metadata: str = "") -> set[CoordinatorError]:
        offsets = {TopicPartition(topic, number): Committed(offset, metadata=metadata) for number in range(20)}
        return set(driven.ask(Commit("g", offsets)).errors.values())

    assert commit(7) == {CoordinatorError.NONE}
    flood(driven)
    assert commit(8) == {CoordinatorError.NONE}
    assert commit(9, metadata="m" * 4096) == {CoordinatorError.COORDINATOR_NOT_AVAILABLE}
    assert commit(9, topic="payments") == {CoordinatorError.COORDINATOR_NOT_AVAILABLE}
    assert driven.committed() == 8


def test_offsets_of_invented_groups_are_bounded() -> None:
    driven = Driven(held_bytes_max=MIB)
    errors = [
        driven.ask(Commit(f"invented-{n}", {TP: Committed(1, metadata="m" * 4000)})).errors[TP] for n in range(300)
    ]
    assert set(errors[:100]) == {CoordinatorError.NONE}
    assert set(errors[-100:]) == {CoordinatorError.COORDINATOR_NOT_AVAILABLE}
    assert driven.coordinator.held.bytes <= MIB


def test_one_group_gets_a_part_of_the_room() -> None:
    driven = Driven(held_bytes_max=MIB)
    errors = [join(driven, "one", number).error for number in range(40)]
    assert errors[-1] is CoordinatorError.COORDINATOR_NOT_AVAILABLE
    assert driven.coordinator.held.bytes <= MIB * SHARE
    assert join(driven, "other").error is CoordinatorError.MEMBER_ID_REQUIRED


def commit(driven: Driven, group: str, principal: str = "", first: int = 0) -> CoordinatorError:
    """The one error of a commit of a hundred offsets without a generation."""
    offsets = {TopicPartition("orders", first + number): Committed(1) for number in range(100)}
    (error,) = set(driven.ask(Commit(group, offsets, principal=principal)).errors.values())
    assert isinstance(error, CoordinatorError)
    return error


def test_groups_of_one_principal_get_a_part_of_the_room() -> None:
    """Half of it, while there is no other. The others commit and join, and so does the principal itself when it has
    deleted some groups."""
    driven = Driven(held_bytes_max=MIB)
    errors = [commit(driven, f"mine-{number}", "User:mallory") for number in range(40)]
    assert (errors[0], errors[-1]) == (CoordinatorError.NONE, CoordinatorError.COORDINATOR_NOT_AVAILABLE)
    assert driven.coordinator.held.bytes <= MIB * MUCH_SHARE
    assert join(driven, "mine-more", principal="User:mallory").error is CoordinatorError.COORDINATOR_NOT_AVAILABLE
    assert commit(driven, "mine-0", "User:alice", first=100) is CoordinatorError.COORDINATOR_NOT_AVAILABLE
    assert commit(driven, "other", "User:alice") is CoordinatorError.NONE
    assert join(driven, "more", principal="User:alice").error is CoordinatorError.MEMBER_ID_REQUIRED
    deleted = 0
    while commit(driven, "mine-more", "User:mallory") is CoordinatorError.COORDINATOR_NOT_AVAILABLE:
        assert driven.ask(DeleteGroup(f"mine-{deleted}")).error is CoordinatorError.NONE
        deleted += 1
    assert 0 < deleted < 8


@pytest.mark.parametrize("error", [CoordinatorError.NONE, CoordinatorError.REQUEST_TIMED_OUT])
def test_commits_count_while_they_are_written(error: CoordinatorError) -> None:
    driven = Driven(held_bytes_max=MIB)
    driven.holds = True
    offsets = {TopicPartition("orders", number): Committed(1) for number in range(100)}
    *_, last = [driven.ask(Commit(f"g{number}", offsets)) for number in range(40)]
    assert set(last.errors.values()) == {CoordinatorError.COORDINATOR_NOT_AVAILABLE}
    before = driven.coordinator.held.bytes
    driven.settle(error)
    assert driven.coordinator.held.bytes == (0 if error else before)


def test_a_group_counts_for_the_principal_that_created_it() -> None:
    """And not for another one that commits to it."""
    driven = Driven(held_bytes_max=MIB)
    assert commit(driven, "mine", "User:mallory") is CoordinatorError.NONE
    assert commit(driven, "mine", "User:alice", first=100) is CoordinatorError.NONE
    assert driven.coordinator.held.by_principal == {"User:mallory": driven.coordinator.held.bytes}
    driven.coordinator.unload(driven.now_ms)
    assert driven.coordinator.held.by_principal == {}


def test_principal_with_more_than_its_part_waits_while_others_hold_much() -> None:
    driven = Driven(held_bytes_max=MIB)
    for number in range(5):
        assert commit(driven, f"mine-{number}", "User:mallory") is CoordinatorError.NONE
    for number in range(4):
        assert commit(driven, f"hers-{number}", "User:alice") is CoordinatorError.NONE
    assert driven.coordinator.held.bytes > MIB * MUCH_SHARE
    assert commit(driven, "mine-more", "User:mallory") is CoordinatorError.COORDINATOR_NOT_AVAILABLE
    assert commit(driven, "others", "User:bob") is CoordinatorError.NONE


def test_a_loaded_group_counts_for_no_principal() -> None:
    before = Driven(held_bytes_max=MIB)
    assert commit(before, "mine", "User:mallory") is CoordinatorError.NONE
    driven = Driven(before.log, held_bytes_max=MIB)
    assert commit(driven, "mine", "User:mallory", first=100) is CoordinatorError.NONE
    assert driven.coordinator.held.bytes > before.coordinator.held.bytes
    assert driven.coordinator.held.by_principal == {}


@pytest.mark.parametrize(
    "made, part",
    [
        ([("one", "User:a"), ("one", "User:a")], SHARE),
        ([("one", "User:a"), ("two", "User:a"), ("three", "User:a")], MUCH_SHARE),
        ([(f"of-{who}", f"User:{who}") for who in "abcde"], 1),
    ],
    ids=["one group", "one principal", "all groups"],
)
def test_room_is_used_up_to_its_last_byte(made: list[tuple[str, str]], part: float) -> None:
    def commits(**settings: Any) -> tuple[list[CoordinatorError], int]:
        driven = Driven(**settings)
        errors = [commit(driven, *who, first=100 * number) for number, who in enumerate(made)]
        return errors, driven.coordinator.held.bytes

    errors, held_bytes = commits()
    assert commits(held_bytes_max=round(held_bytes / part)) == (errors, held_bytes)
    less, _ = commits(held_bytes_max=round(held_bytes / part) - 1)
    assert (errors[-1], less[-1]) == (CoordinatorError.NONE, CoordinatorError.COORDINATOR_NOT_AVAILABLE)
    assert less[:-1] == errors[:-1]


def test_coordinator_that_is_unloaded_gives_its_room_to_the_others() -> None:
    driven = Driven(held_bytes_max=MIB)
    driven.stable("a")
    flood(driven)
    driven.coordinator.unload(driven.now_ms)
    assert driven.coordinator.held.bytes == 0


def test_groups_that_come_and_go_leave_nothing_in_the_schedule() -> None:
    driven = Driven()
    tracemalloc.start()
    try:
        for number in range(1000):
            group = f"{number}-".ljust(30_000, "x")
            member_id = join(driven, group, number, client_id="c").member_id
            assert driven.ask(Leave(group, (Leaving(member_id),))).members[0][1] is CoordinatorError.NONE
            driven.heard.clear()
        assert tracemalloc.get_traced_memory()[0] < 6 * MIB  # of 30
    finally:
        tracemalloc.stop()
    assert driven.coordinator.groups == {}


# --- one member


@pytest.mark.parametrize(
    "protocols",
    [
        [(f"p{number}", b"") for number in range(300_000)],
        [(f"p{number}", b"") for number in range(21)],
        [("range", b"x" * MIB)],
        [("x" * 600_000, b""), ("range", b"x" * 600_000)],
    ],
    ids=["300,000", "21", "1 MiB of metadata", "1 MiB of both"],
)
def test_protocols_of_a_member_are_bounded_in_number_and_size(protocols: list[tuple[str, bytes]]) -> None:
    driven = Driven()
    assert driven.join("a", protocols=protocols) == Joined(CoordinatorError.INVALID_REQUEST, "")
    assert driven.coordinator.groups == {}
    driven.join("b", protocols=protocols[:20] if len(protocols) > 20 else [("range", b"x" * (MIB - 1000))])
    assert len(driven.coordinator.groups["g"].members) == 1


def test_assignment_to_a_member_is_bounded_in_size() -> None:
    driven = Driven(initial_rebalance_delay_ms=100)
    driven.join("a")
    driven.wait(100)
    member_id = driven.heard["a"].member_id
    asked = Sync("g", 1, member_id, {member_id: b"x" * (MIB + 1)})
    assert driven.ask(asked) == Synced(CoordinatorError.INVALID_REQUEST)
    assert driven.sync("a", member_id, 1, a=b"x").error is CoordinatorError.NONE


def test_a_member_may_bring_as_much_as_its_bounds_say() -> None:
    protocols = [("range", b"x" * 500), ("sticky", b"x" * 500)]
    bounds: dict[str, Any] = {"protocols_max": len(protocols), "member_bytes_max": held.by_protocols(protocols)}
    driven = Driven(initial_rebalance_delay_ms=100, **bounds)
    driven.join("a", protocols=protocols)
    driven.wait(100)
    member_id = driven.heard["a"].member_id
    assigned = b"x" * driven.settings.member_bytes_max
    assert driven.sync("a", member_id, 1, a=assigned) == Synced(CoordinatorError.NONE, "consumer", "range", assigned)
