"""Four limits of a broker: how settings become limits, and who is bound by which."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kedge.controller.quota import (
    FAMILIES,
    SIDES,
    UNLIMITED,
    Bound,
    Family,
    ReplicationQuotas,
    Rotation,
    Side,
    parse_rate,
    parse_throttled_replicas,
    rate_setting,
    replicas_setting,
)

LEADER, FOLLOWER = "leader.reassignment.throttled.rate", "follower.reassignment.throttled.rate"
OLD_LEADER, OLD_FOLLOWER = "leader.replication.throttled.rate", "follower.replication.throttled.rate"
LEADERS, FOLLOWERS = "leader.replication.throttled.replicas", "follower.replication.throttled.replicas"


class Host:
    """A broker 1, its quotas and its clock."""

    def __init__(self) -> None:
        self.ms = 0
        self.quotas = ReplicationQuotas(1, lambda: self.ms)

    def limits(self) -> dict[str, int]:
        """What is limited."""
        quotas = {rate_setting(s, f): self.quotas.of(s, f) for s in SIDES for f in FAMILIES}
        return {name: quota.limit for name, quota in quotas.items() if quota.is_limited}


# --- settings


def test_the_names_are_those_of_the_proposals() -> None:
    rates = {rate_setting(side, family) for side in SIDES for family in FAMILIES}
    assert rates == {LEADER, FOLLOWER, OLD_LEADER, OLD_FOLLOWER}
    assert {replicas_setting(side) for side in SIDES} == {LEADERS, FOLLOWERS}


@pytest.mark.checklist(163)
def test_settings_of_the_broker_become_its_limits_and_go_when_they_are_deleted() -> None:
    host = Host()
    assert not host.quotas.config_changed("brokers", "1", {LEADER: "5", OLD_FOLLOWER: " 7 ", "other": "x"})
    assert host.limits() == {LEADER: 5, OLD_FOLLOWER: 7}
    assert host.quotas.is_limited
    assert not host.quotas.config_changed("brokers", "1", {OLD_FOLLOWER: "7"})
    assert host.limits() == {OLD_FOLLOWER: 7}
    assert not host.quotas.config_changed("brokers", "1", {})
    assert host.limits() == {}
    assert not host.quotas.is_limited


def test_settings_of_other_brokers_and_of_other_kinds_are_none_of_its_business() -> None:
    host = Host()
    for kind, name in (("brokers", "2"), ("brokers", "01"), ("topics", "1"), ("users", "1"), ("brokers", "")):
        assert not host.quotas.config_changed(kind, name, {LEADER: "5"})
    assert host.limits() == {}


def test_a_default_is_taken_for_rates_of_replication_that_the_broker_has_not_itself() -> None:
    host = Host()
    host.quotas.config_changed("brokers", "1", {OLD_LEADER: "5"})
    host.quotas.config_changed("brokers", "<default>", {OLD_LEADER: "9", OLD_FOLLOWER: "9", LEADER: "9", FOLLOWER: "9"})
    assert host.limits() == {OLD_LEADER: 5, OLD_FOLLOWER: 9}
    host.quotas.config_changed("brokers", "1", {})
    assert host.limits() == {OLD_LEADER: 9, OLD_FOLLOWER: 9}


WRONG_RATES = ["0", "-1", "", "x", "1e3", "1.0", "9223372036854775808", "\u0663", "1" * 5_000, "1_0"]


@pytest.mark.checklist(161)
@pytest.mark.parametrize("wrong", WRONG_RATES)
def test_a_value_that_is_no_rate_is_named_and_what_was_in_force_stays(wrong: str) -> None:
    host = Host()
    host.quotas.config_changed("brokers", "1", {LEADER: "5", FOLLOWER: "5"})
    refused = host.quotas.config_changed("brokers", "1", {LEADER: wrong, FOLLOWER: "6"})
    assert list(refused) == [LEADER]
    assert "whole number of bytes per second" in refused[LEADER]
    assert host.limits() == {LEADER: 5, FOLLOWER: 6}
    host.quotas.config_changed("brokers", "1", {LEADER: wrong})
    assert host.limits() == {LEADER: 5}


def test_the_largest_rate_is_as_good_as_none() -> None:
    host = Host()
    host.quotas.config_changed("brokers", "1", {LEADER: str(UNLIMITED)})
    assert host.limits() == {}
    assert (parse_rate("1"), parse_rate(str(UNLIMITED))) == (1, UNLIMITED)


# --- lists


@pytest.mark.checklist(174)
@pytest.mark.parametrize(
    "text,named",
    [
        ("", set()),
        ("*", "*"),
        (" * ", "*"),
        ("0:1", {(0, 1)}),
        ("0:1,0:2, 12:1001", {(0, 1), (0, 2), (12, 1001)}),
        ("0:1,", {(0, 1)}),
    ],
)
def test_a_list_names_replicas_or_all(text: str, named: object) -> None:
    assert parse_throttled_replicas(text) == named


WRONG_LISTS = ["x", "0", "0:", ":1", "0:1:2", "-1:1", "0:1;0:2", "*,0:1", "0:*", "*:1", "0 :1", "\u0660:1"]


@pytest.mark.checklist(174)
@pytest.mark.parametrize("wrong", WRONG_LISTS)
def test_what_is_no_list_is_refused_and_the_former_list_stays(wrong: str) -> None:
    host = Host()
    host.quotas.config_changed("topics", "t", {LEADERS: "0:1"})
    refused = host.quotas.config_changed("topics", "t", {LEADERS: wrong, FOLLOWERS: "*"})
    assert list(refused) == [LEADERS]
    assert "partition:broker" in refused[LEADERS]
    assert host.quotas.families("leader", "t", 0, 2, isr=(1,), target=None) == ("replication",)
    assert host.quotas.families("follower", "t", 5, 1, isr=(2,), target=None) == ("replication",)


# --- who is bound


@pytest.mark.checklist(167, 169, 170, 172, 173)
@pytest.mark.parametrize(
    "side,lists,isr,target,families",
    [
        ("leader", {}, (1,), (1, 2), ("reassignment",)),  # in T and not in I, no list
        ("leader", {}, (1,), (1, 3), ()),  # an ordinary replica that fell out
        ("leader", {}, (1,), None, ()),
        ("leader", {}, (1, 2), (1, 2), ()),  # in sync
        ("leader", {LEADERS: "*"}, (1,), None, ("replication",)),
        ("leader", {LEADERS: "0:1"}, (1,), None, ("replication",)),  # the leader is named, not the follower
        ("leader", {LEADERS: "0:2,1:1"}, (1,), None, ()),
        ("leader", {FOLLOWERS: "*"}, (1,), None, ()),
        ("leader", {LEADERS: "*"}, (1, 2), (1, 2), ()),
        ("leader", {LEADERS: "*"}, (1,), (2,), FAMILIES),
        ("follower", {}, (2,), (1,), ("reassignment",)),
        ("follower", {}, (2,), (2, 3), ()),
        ("follower", {}, (1, 2), (1, 2), ()),
        ("follower", {FOLLOWERS: "0:1"}, (2,), None, ("replication",)),
        ("follower", {FOLLOWERS: "0:2", LEADERS: "*"}, (2,), None, ()),
        ("follower", {FOLLOWERS: "0:1"}, (2,), (1, 2), FAMILIES),
    ],
)
def test_who_is_not_in_sync_is_bound_by_what_names_it(
    side: Side,
    lists: dict[str, str],
    isr: tuple[int, ...],
    target: tuple[int, ...] | None,
    families: tuple[Family, ...],
) -> None:
    host = Host()
    host.quotas.config_changed("topics", "t", lists)
    held = {
        "leader": host.quotas.leader_side("t", 0, 2, isr=isr, target=target),
        "follower": host.quotas.follower_side("t", 0, isr=isr, target=target),
    }[side]
    assert held.quotas == tuple(host.quotas.of(side, family) for family in families)


@pytest.mark.checklist(173)
def test_both_limits_bind_and_every_byte_counts_in_both() -> None:
    host = Host()
    host.quotas.config_changed("topics", "t", {LEADERS: "*"})
    host.quotas.config_changed("brokers", "1", {LEADER: "100", OLD_LEADER: "10"})
    bound = host.quotas.leader_side("t", 0, 2, isr=(1,), target=(2,))
    host.ms += 1_000
    assert bound.allowance() == 2
    bound.record(150)
    assert [quota.rate() for quota in bound.quotas] == [15, 15]
    assert bound.is_exceeded()
    assert not host.quotas.of("leader", "reassignment").is_exceeded()
    assert bound.delay() == host.quotas.of("leader", "replication").delay() == 11
    assert bound.delay_ms() == 11_000


def test_what_nothing_binds_waits_for_nothing() -> None:
    free = Bound()
    free.record(10**9)
    assert (bool(free), free.is_exceeded(), free.delay(), free.allowance()) == (False, False, 0, UNLIMITED)
    bound = Host().quotas.leader_side("t", 0, 2, isr=(1,), target=(2,))
    assert (free + bound) is bound
    assert (bound + free) is bound
    assert (bound + bound).quotas == bound.quotas * 2


# --- turns


@pytest.mark.checklist(183)
def test_who_waits_longest_is_first_and_who_comes_later_stands_behind() -> None:
    line = Rotation[str]()
    assert line.order(["a", "b", "c"]) == ["a", "b", "c"]
    line.served("a")
    assert line.order(["a", "b", "c", "d"]) == ["b", "c", "a", "d"]
    line.order(["c", "a"])  # b and d have nothing to ask for
    assert line.order(["b", "c", "a"]) == ["c", "a", "b"]


@pytest.mark.slow
@pytest.mark.checklist(183)
@given(st.lists(st.sets(st.integers(0, 9)), min_size=1, max_size=60))
def test_frequent_requester_passes_no_other_twice(asking: list[set[int]]) -> None:
    line = Rotation[int]()
    passed: list[int] = []
    for others in asking:
        first = line.order([*sorted(others), 99])[0]
        line.served(first)
        passed = [] if first == 99 else [*passed, first]
        assert len(set(passed)) == len(passed)
