"""Topics that appear, grow, vanish or are created again; and regular expressions."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kedge.controller.coordinators import CoordinatorError
from kedge.controller.groups.consumer.values import NONE, ConsumerRecord, Kind, Resolved, Topic, Topics
from tests.groups.consumer.driving import OK, ORDERS, Client, Consumers, of

BOTH = frozenset({"orders", "payments"})


def test_topic_that_grows_is_assigned_again() -> None:
    """By the next heartbeat of any member."""
    driven = Consumers(topics={"orders": 2})
    a, b = driven.clients("a", "b")
    driven.create(orders=4)
    assert len(a.beat().assigned) == 2
    assert len(b.beat().assigned) == 2
    assert (a.epoch, b.epoch, driven.consumer.epoch) == (3, 3, 3)


def test_topic_that_appears_is_assigned() -> None:
    """A member may subscribe to one that does not exist yet."""
    driven = Consumers()
    (a,) = driven.clients("a", topics=BOTH)
    assert a.owned == of("orders", 0, 1, 2, 3)
    driven.create(orders=4, payments=1)
    assert a.beat().assigned == of("orders", 0, 1, 2, 3) | of("payments", 0)


def test_topic_that_vanishes_is_revoked() -> None:
    """Like one to which the member does not subscribe any more."""
    driven = Consumers(topics={"orders": 2, "payments": 2})
    (a,) = driven.clients("a", topics=BOTH)
    driven.create(payments=2)
    assert a.beat().assigned == of("payments", 0, 1)
    assert (a.epoch, a.beat().epoch) == (1, 2)


def test_topic_that_was_created_again_is_another() -> None:
    """Its partitions are revoked and assigned, since its id is new."""
    driven = Consumers(topics={"orders": 2})
    (a,) = driven.clients("a")
    driven.create(orders=2, again=["orders"])
    driven.reconcile(a)
    assert (a.epoch, a.owned) == (2, frozenset({("orders-new", 0), ("orders-new", 1)}))


def test_topics_of_others_cause_no_rebalance() -> None:
    """Only those to which members subscribe do."""
    driven = Consumers()
    (a,) = driven.clients("a")
    written = len(driven.log)
    driven.create(orders=4, payments=7)
    assert (a.beat().epoch, driven.consumer.epoch, len(driven.log)) == (1, 1, written)


def test_restart_alone_causes_no_rebalance() -> None:
    """The log has a hash of them. Those that changed meanwhile do."""
    driven = Consumers()
    driven.clients("a")
    assert Consumers(driven.log).heartbeat("a", 1).epoch == 1
    changed = Consumers(driven.log, {"orders": 5})
    assert changed.heartbeat("a", 1).assigned == of("orders", 0, 1, 2, 3, 4)


@pytest.mark.parametrize(
    "before, after, is_same",
    [
        ({"a": ("x", 1), "b": ("y", 2)}, {"b": ("y", 2), "a": ("x", 1)}, True),
        ({"a": ("x", 1)}, {"a": ("x", 2)}, False),
        ({"a": ("x", 1)}, {"a": ("y", 1)}, False),
        ({"a": ("x", 1)}, {}, False),
        ({"a": ("x", 1), "b": ("y", 2)}, {"a": ("y", 1), "b": ("x", 2)}, False),
        ({"c": ("x", 1)}, {}, True),
    ],
)
def test_hash_of_subscribed_topics(
    before: dict[str, tuple[str, int]], after: dict[str, tuple[str, int]], is_same: bool
) -> None:
    """It depends on their names, ids and numbers of partitions, and on no other topic."""
    consumer = Consumers().client("m", topics=frozenset({"a", "b"})).driven.consumer

    def digest(topics: dict[str, tuple[str, int]]) -> int:
        consumer.subscribe(Topics({name: Topic(*topic) for name, topic in topics.items()}))
        return consumer.metadata_hash

    assert (digest(before) == digest(after)) is is_same
    assert 0 <= digest(before) < 2**56
    assert digest({}) == 0


# --- regular expressions


def with_regex(driven: Consumers, regex: str = "o.*", sees: Callable[[str], bool] = lambda _: True) -> Client:
    return driven.client("a", topics=None, regex=regex, sees=sees)


def test_expression_matches_whole_names() -> None:
    """And adds to the topics that are named."""
    driven = Consumers(topics={"orders": 1, "oil": 1, "boo": 1, "payments": 1})
    a = with_regex(driven, "o.*")
    assert a.owned == of("orders", 0) | of("oil", 0)
    a.beat(topics=frozenset({"payments"}))
    assert a.owned == of("orders", 0) | of("oil", 0) | of("payments", 0)


def test_expression_matches_what_the_client_may_see() -> None:
    """Other topics are left out, as if they did not exist."""
    driven = Consumers(topics={"orders": 1, "oil": 1})
    assert with_regex(driven, sees=ORDERS.__contains__).owned == of("orders", 0)


def test_expression_is_evaluated_when_topics_change() -> None:
    """With the rights of the member whose heartbeat comes first."""
    driven = Consumers(topics={"orders": 1})
    a = with_regex(driven)
    b = driven.client("b", topics=ORDERS)
    driven.create(orders=1, oil=1, other=1)
    b.beat(sees=lambda name: name != "other")
    driven.reconcile(a, b)
    assert driven.consumer.regexes["o.*"].topics == {"orders", "oil"}
    assert a.owned | b.owned == of("orders", 0) | of("oil", 0)
    a.beat()
    assert driven.consumer.regexes["o.*"].topics == {"orders", "oil"}


def test_expression_is_evaluated_after_a_member_left() -> None:
    """Although the group took note of the topics then."""
    driven = Consumers(topics={"orders": 1})
    a = with_regex(driven)
    driven.client("b")
    driven.create(orders=1, oil=1)
    driven.heartbeat("b", -1)
    driven.reconcile(a)
    assert (driven.consumer.subscribed, a.owned) == (frozenset({"orders", "oil"}), of("orders", 0) | of("oil", 0))
    assert Consumers(driven.log, {"orders": 1, "oil": 1}).heartbeat("a", a.epoch).epoch == a.epoch


def test_expression_is_written_when_its_topics_change() -> None:
    """With the time at which it was evaluated."""
    driven = Consumers(topics={"orders": 1})
    a = with_regex(driven)
    driven.wait(5)
    driven.create(orders=2, payments=1)
    a.beat()
    driven.create(orders=2, oil=1)
    a.beat()
    written = [
        record.value for record in driven.log if isinstance(record, ConsumerRecord) and record.kind is Kind.REGEX
    ]
    assert written == [Resolved(ORDERS, 1_000), Resolved(frozenset({"orders", "oil"}), 1_005)]


def test_expression_of_several_members_is_evaluated_once() -> None:
    """The second one gets the topics that the first one sees."""
    driven = Consumers(topics={"orders": 2, "oil": 2})
    a = with_regex(driven, sees=ORDERS.__contains__)
    b = driven.client("b", topics=None, regex="o.*", sees=lambda _: False)
    driven.reconcile(a, b)
    assert [len(a.owned), len(b.owned)] == [1, 1]


@pytest.mark.parametrize("how", ["leaves", "has another", "has none"])
def test_expression_that_no_member_uses_is_dropped(how: str) -> None:
    """From memory and from the log."""
    driven = Consumers()
    a = with_regex(driven)
    if how == "leaves":
        driven.client("b")
        a.leave()
    else:
        a.beat(regex="p.*" if how == "has another" else "", topics=NONE)
    assert set(driven.consumer.regexes) == ({"p.*"} if how == "has another" else set())
    assert ConsumerRecord("g", Kind.REGEX, "o.*") in driven.log


def test_expression_that_another_member_uses_remains() -> None:
    """When one of both leaves."""
    driven = Consumers()
    a = with_regex(driven)
    b = driven.client("b", topics=None, regex="o.*")
    a.leave()
    b.beat()
    assert b.owned == of("orders", 0, 1, 2, 3)


def test_expression_that_is_none_is_refused() -> None:
    """The member stays as it was, and no group is made."""
    driven = Consumers()
    a = with_regex(driven)
    answer = a.beat(regex="(")
    assert answer.error is CoordinatorError.INVALID_REGULAR_EXPRESSION
    assert answer.message.startswith("not a valid regular expression: ")
    assert (driven["a"].said.regex, driven.consumer.epoch, a.beat().error) == ("o.*", 1, OK)
    other = Consumers()
    assert other.heartbeat("a", 0, regex="(").error is CoordinatorError.INVALID_REGULAR_EXPRESSION
    assert (other.coordinator.groups, other.log) == ({}, [])


def test_expression_without_topics_changes_nothing() -> None:
    """Another one with the same topics is a change of the member."""
    driven = Consumers()
    a = with_regex(driven, "x")
    assert (a.epoch, a.owned) == (1, NONE)
    assert (a.beat(regex="x").epoch, a.beat(regex="y").epoch) == (1, 2)
