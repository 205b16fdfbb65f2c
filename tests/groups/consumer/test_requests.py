"""ConsumerGroupHeartbeat: which requests are refused, and what is in the answers."""

from __future__ import annotations

from typing import Any

import pytest

from kedge.controller.coordinators import CoordinatorError
from kedge.controller.groups.consumer.values import NONE
from kedge.controller.groups.replies import ConsumerHeartbeated
from kedge.controller.groups.requests import ConsumerHeartbeat
from tests.groups.consumer.driving import OK, ORDERS, Consumers, of

JOINS: dict[str, Any] = {"member_id": "a", "epoch": 0, "rebalance_timeout_ms": 1, "topics": ORDERS, "owned": NONE}
STAYS: dict[str, Any] = {"member_id": "a", "epoch": 1}


@pytest.mark.parametrize(
    "fields, message",
    [
        (JOINS | {"group": ""}, "group must not be empty"),
        (JOINS | {"group": " "}, "group must not be empty"),
        (JOINS | {"instance_id": ""}, "instance_id must not be empty"),
        (JOINS | {"instance_id": " "}, "instance_id must not be empty"),
        (JOINS | {"rack": ""}, "rack must not be empty"),
        (JOINS | {"member_id": ""}, "the member id must not be empty"),
        (STAYS | {"member_id": "", "fresh_id": "x"}, "the member id must not be empty"),
        (STAYS | {"member_id": "", "epoch": -1}, "the member id must not be empty"),
        (STAYS | {"epoch": -2}, "epoch -2 needs an instance id"),
        (STAYS | {"epoch": -3}, "the member epoch must be at least -2, not -3"),
        (JOINS | {"rebalance_timeout_ms": -1}, "a member that joins must send its rebalance timeout"),
        (JOINS | {"owned": None}, "a member that joins must send an empty list of partitions"),
        (JOINS | {"owned": of("orders", 0)}, "a member that joins must send an empty list of partitions"),
        (JOINS | {"topics": None}, "a member that joins must send topics or a regular expression"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_request_that_no_member_may_send(fields: dict[str, Any], message: str) -> None:
    """It is refused with the reason, and leaves no group behind."""
    driven = Consumers()
    answer = driven.ask(ConsumerHeartbeat(**{"group": "g", **fields}))
    expected = ConsumerHeartbeated(CoordinatorError.INVALID_REQUEST, fields["member_id"], message=message)
    assert (answer, driven.coordinator.groups, driven.log) == (expected, {}, [])


@pytest.mark.parametrize("epoch", [0, 1])
def test_assignor_that_does_not_exist_is_refused(epoch: int) -> None:
    """The answer names those that do, and repeats no long name."""
    answer = Consumers().heartbeat("a", epoch, assignor="s" * 1000)
    assert answer.error is CoordinatorError.UNSUPPORTED_ASSIGNOR
    assert answer.message == "the assignor '" + 99 * "s" + " is not supported, only uniform, range"


@pytest.mark.parametrize("fields", [{"topics": None, "regex": "o.*"}, {"topics": frozenset()}, {"rack": "r"}])
def test_request_with_which_a_member_joins(fields: dict[str, Any]) -> None:
    """Topics or an expression are needed, but not both."""
    assert Consumers().heartbeat("a", 0, **fields).error is OK


def test_member_without_an_id_gets_one() -> None:
    """Version 0 of the request: the id is that which the host made."""
    driven = Consumers()
    assert driven.heartbeat("", 0, fresh_id="fresh").member_id == "fresh"
    assert list(driven.consumer.members) == ["fresh"]


@pytest.mark.parametrize("epoch", [1, -1])
def test_member_that_is_not_there_is_unknown(epoch: int) -> None:
    """In a group, and without one."""
    driven = Consumers()
    assert driven.heartbeat("b", epoch).error is CoordinatorError.UNKNOWN_MEMBER_ID
    assert driven.coordinator.groups == {}
    driven.clients("a")
    assert driven.heartbeat("b", epoch).error is CoordinatorError.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize(
    "epoch, owned, error",
    [
        (2, None, OK),
        (2, of("orders", 0, 1, 2, 3), OK),
        (1, of("orders", 0, 1), OK),
        (1, NONE, OK),
        (1, None, CoordinatorError.FENCED_MEMBER_EPOCH),
        (1, of("orders", 0, 2), CoordinatorError.FENCED_MEMBER_EPOCH),
        (3, NONE, CoordinatorError.FENCED_MEMBER_EPOCH),
        (0, NONE, OK),
    ],
)
def test_epochs_that_a_member_may_send(epoch: int, owned: Any, error: CoordinatorError) -> None:
    """It may send the former epoch if it owns a part of what it has, since the answer with the present one may be lost;
    and 0 to join again."""
    driven = Consumers()
    driven.clients("a", "b")
    assert driven["a"].current.assigned == of("orders", 0, 1)
    answer = driven.heartbeat("a", epoch, owned=owned)
    assert (answer.error, driven["a"].current.epoch) == (error, 2)
    assert answer.epoch == (0 if error else 2)


def test_epoch_before_the_former_is_fenced() -> None:
    """With the one that follows it, which the member never had, as well."""
    driven = Consumers()
    a, _b = driven.clients("a", "b")
    a.beat(topics=frozenset({"orders", "payments"}))
    a.beat(topics=ORDERS)
    assert (driven["a"].current.previous_epoch, driven["a"].current.epoch) == (3, 4)
    assert [driven.heartbeat("a", epoch, owned=NONE).error for epoch in (1, 2, 3)] == [
        CoordinatorError.FENCED_MEMBER_EPOCH,
        CoordinatorError.FENCED_MEMBER_EPOCH,
        OK,
    ]


@pytest.mark.parametrize(
    "fields, is_shown",
    [
        ({}, False),
        ({"topics": ORDERS, "owned": of("orders", 0, 1, 2, 3)}, False),
        ({"rebalance_timeout_ms": 5, "owned": of("orders", 0, 1, 2, 3)}, False),
        ({"rebalance_timeout_ms": 5, "topics": ORDERS}, False),
        ({"rebalance_timeout_ms": 5, "topics": ORDERS, "owned": NONE}, True),
        ({"rebalance_timeout_ms": 0, "topics": ORDERS, "owned": NONE}, True),
        ({"rebalance_timeout_ms": 5, "regex": "", "owned": NONE}, True),
    ],
)
def test_assignment_is_in_answers_to_full_requests(fields: dict[str, Any], is_shown: bool) -> None:
    """A member sends everything after an error, and may have lost an answer with its assignment."""
    driven = Consumers()
    driven.clients("a")
    shown = of("orders", 0, 1, 2, 3) if is_shown else None
    expected = ConsumerHeartbeated(OK, "a", 1, shown, driven.settings.consumer_heartbeat_interval_ms)
    assert driven.heartbeat("a", 1, **fields) == expected


def test_assignment_is_in_answers_when_it_changes() -> None:
    """And in that to the request by which a member joins, also if it is empty."""
    driven = Consumers(topics={"orders": 1})
    assert driven.heartbeat("a", 0).assigned == of("orders", 0)
    assert driven.heartbeat("b", 0).assigned == NONE
    driven.create(orders=2)
    assert [driven.heartbeat("b", 2).assigned for _ in range(2)] == [of("orders", 1), None]


def test_what_a_member_leaves_out_is_as_before() -> None:
    """Also an instance id of None, which is no other one."""
    driven = Consumers()
    driven.heartbeat("a", 0, rack="r", assignor="range", client_id="c", client_host="h", regex="o.*")
    before = driven["a"].said
    assert (before.rack, before.assignor, before.regex, before.rebalance_timeout_ms) == ("r", "range", "o.*", 60_000)
    driven.heartbeat("a", 1, client_id="c", client_host="h")
    assert driven["a"].said == before
    driven.heartbeat("a", 1, rack="other", rebalance_timeout_ms=0, client_id="d", client_host="i")
    said = driven["a"].said
    assert (said.rack, said.rebalance_timeout_ms, said.client_id, said.client_host) == ("other", 0, "d", "i")
    assert driven.consumer.epoch == 1
