"""The memory that groups of the consumer protocol hold, and its bounds (`kedge.controller.groups.held`)."""

from __future__ import annotations

from typing import Any

import pytest

from kedge.controller.coordinators import CoordinatorError
from kedge.controller.groups import held
from kedge.controller.groups.growing import growth
from kedge.controller.groups.requests import ConsumerHeartbeat
from tests.groups.consumer.driving import OK, ORDERS, Classic, Consumers

MIB = 1024 * 1024
LONG = frozenset({"t" * 100_000})
NOT_AVAILABLE = CoordinatorError.COORDINATOR_NOT_AVAILABLE


def join(driven: Consumers, group: str, member_id: str = "a", **fields: Any) -> CoordinatorError:
    named = {"rebalance_timeout_ms": 1, "topics": ORDERS, "owned": frozenset(), **fields}
    error: CoordinatorError = driven.ask(ConsumerHeartbeat(group, member_id, 0, **named)).error
    return error


def test_invented_groups_are_bounded() -> None:
    """A join that finds no room is refused, and leaves nothing behind."""
    driven = Consumers(held_bytes_max=MIB)
    errors = [join(driven, f"g{number}", topics=LONG) for number in range(20)]
    assert (errors[0], errors[-1]) == (OK, NOT_AVAILABLE)
    assert driven.coordinator.held.bytes <= MIB
    assert len(driven.coordinator.groups) == errors.count(OK)


def test_members_of_one_group_are_bounded() -> None:
    """Each member counts, also without topics."""
    driven = Consumers(held_bytes_max=MIB)
    errors = [join(driven, "g", f"m{number}", topics=frozenset()) for number in range(100)]
    assert errors[-1] is NOT_AVAILABLE
    assert held.MEMBER * errors.count(OK) <= driven.group.held_bytes <= MIB / 4


def test_members_go_on_while_there_is_no_room() -> None:
    """With heartbeats, and topics that take no more room."""
    driven = Consumers(held_bytes_max=MIB)
    a, b = driven.clients("a", "b")
    while join(driven, f"g{driven.now_ms}", topics=LONG) is OK:
        driven.now_ms += 1
    assert (a.beat().error, b.beat().error) == (OK, OK)
    assert a.beat(topics=frozenset({"payments"})).error is OK
    assert a.beat(topics=LONG).error is NOT_AVAILABLE
    assert a.leave().error is OK


@pytest.mark.parametrize(
    "fields, is_more",
    [
        ({}, False),
        ({"topics": ORDERS}, False),
        ({"topics": LONG}, True),
        ({"topics": frozenset({"t" * 2_500}), "regex": "x" * 900}, True),
        ({"rack": "r" * 100_000}, True),
    ],
)
def test_growth_by_what_a_member_sends(fields: dict[str, Any], is_more: bool) -> None:
    """It grows by as much as it holds more afterwards."""
    driven = Consumers()
    driven.clients("a", "b")
    asked = ConsumerHeartbeat("g", "a", 2, client_id="c", **fields)
    before, grown = driven.group.held_bytes, growth(driven.group, asked)
    assert driven.ask(asked).error is OK
    assert (grown > 0) is is_more
    assert not is_more or 0 <= driven.group.held_bytes - before <= grown + 1_000


def test_member_that_is_new_grows_the_group() -> None:
    """At least by what each member counts; and with the group if that is new."""
    driven = Consumers()
    asked = ConsumerHeartbeat("g", "a", 0, "", topics=ORDERS)
    assert growth(None, asked) >= held.GROUP + held.MEMBER
    driven.client("b")
    assert held.MEMBER <= growth(driven.group, asked) < held.GROUP + held.MEMBER


def test_long_member_ids_count() -> None:
    """Clients make them."""
    driven = Consumers()
    assert join(driven, "g", "x" * 100_000) is OK
    assert driven.group.held_bytes > 100_000
    assert growth(None, ConsumerHeartbeat("g", "x" * 100_000, 0, topics=ORDERS)) > 100_000


def test_partitions_and_expressions_count() -> None:
    """A member that owns many takes more, and so do topics that an expression matches."""
    few, many = Consumers(topics={"orders": 4}), Consumers(topics={"orders": 400})
    for driven in (few, many):
        driven.client("a")
    assert many.group.held_bytes > few.group.held_bytes + 400 * 100
    driven = Consumers(topics={f"{number}".ljust(249, "t"): 1 for number in range(100)})
    a = driven.client("a", topics=frozenset(), regex="x")
    before = driven.group.held_bytes
    a.beat(regex=".*t")
    assert driven.group.held_bytes > before + 100 * (249 + 2 * 250)


def test_memory_is_back_when_members_are_gone() -> None:
    """And that of a group with its last record."""
    driven = Consumers(offsets_check_ms=5_000)
    driven.client("a", topics=LONG)
    driven.wait(45_000)
    assert driven.coordinator.held.bytes < 3_000
    driven.wait(5_000)
    assert driven.coordinator.held.bytes == 0


@pytest.mark.parametrize(
    "fields",
    [
        {"topics": frozenset({"t" * 600, "u" * 500})},
        {"regex": "x" * 1_001},
        {"member_id": "x" * 1_001},
        {"rack": "x" * 1_001},
        {"instance_id": "x" * 1_001},
    ],
)
def test_member_that_sends_too_much_is_refused(fields: dict[str, Any]) -> None:
    """More than any member may have, whatever room there is."""
    driven = Consumers(member_bytes_max=1_000)
    assert join(driven, "g", **fields) is CoordinatorError.INVALID_REQUEST
    assert driven.coordinator.groups == {}


def test_group_counts_for_the_principal_that_created_it() -> None:
    """With the first heartbeat."""
    driven = Consumers()
    join(driven, "g", principal="User:mallory")
    assert driven.coordinator.held.by_principal == {"User:mallory": driven.coordinator.held.bytes}


def test_changes_of_the_protocol_keep_the_count() -> None:
    """What is held is what is counted."""
    driven = Consumers()
    (c,) = driven.classics("c")
    a = driven.client("a")
    assert driven.coordinator.held.bytes == driven.group.held_bytes
    driven.reconcile(c, a)
    assert driven.coordinator.held.bytes == driven.group.held_bytes
    a.leave()
    assert driven.coordinator.held.bytes == driven.group.held_bytes
    assert isinstance(c, Classic)
