"""Marks of throttles that a takeover finds: which version wrote them, and what can be read of them."""

from __future__ import annotations

import pytest

from kedge import Journal, MemorySink
from kedge.controller.codec import keys
from tests.runtime.throttled import (
    LEADER_LIST,
    LEADER_RATE,
    RATE,
    T,
    alter_rates,
    both,
    broker_config,
    cluster_with,
    complete,
    ended,
    marked,
    nothing_left,
    reassign,
    set_by_hand,
    topic_config,
)


@pytest.mark.checklist(43)
def test_while_a_move_runs_a_takeover_touches_no_throttle() -> None:
    """It is reported in the first line of the term, and goes when the move has ended."""
    cluster = cluster_with()
    assert reassign(cluster, {T: [4, 5, 6]}) == {T: None}
    before = cluster.keys("/config")
    sink = MemorySink()
    cluster.succeed(journal=Journal(sink))
    assert cluster.keys("/config") == before
    assert marked(cluster) == (["t"], [1, 2, 3, 4, 5, 6])
    assert '"throttles":{"topics":["t"],"brokers":["1","2","3","4","5","6"]}' in sink.lines[0]
    ended(cluster)


def test_where_nothing_runs_a_takeover_takes_back_what_is_marked() -> None:
    cluster = cluster_with()
    assert alter_rates(cluster, {1: 5_000}) == {1: None}
    cluster.succeed()
    nothing_left(cluster)


@pytest.mark.parametrize("is_running", [True, False])
def test_the_other_names_of_the_keys_are_honoured_and_cleaned(is_running: bool) -> None:
    """From a version without `previous`: all throttles of the listed ones go, of both families, and no other."""
    cluster = cluster_with({"t": [[1, 2, 3]], "u": [[1]]})
    cluster.put(keys.OLD_REPLICAS_REMOVAL, {"version": 1, "topics": ["t", "gone"]})
    cluster.put(keys.OLD_RATES_REMOVAL, {"version": 1, "brokers": [1]})
    lists = {LEADER_LIST: "0:1", "retention.ms": "5"}
    for topic in ("t", "u"):
        cluster.put(keys.topic_config(topic), {"version": 1, "config": lists})
    reassignment = {name.replace("replication", "reassignment"): value for name, value in both(7).items()}
    for broker in (1, 2):
        cluster.put(keys.broker_config(str(broker)), {"version": 1, "config": both(6) | reassignment})
    if is_running:
        cluster.done(cluster.move([4, 5, 6]))
    cluster.succeed()
    if is_running:
        assert topic_config(cluster) == lists
        complete(cluster)
        cluster.wait(2_000)
    assert topic_config(cluster) == {"retention.ms": "5"}
    assert broker_config(cluster, 1) == {}
    assert (topic_config(cluster, "u"), broker_config(cluster, 2)) == (lists, both(6) | reassignment)
    assert not [key for key in cluster.keys("/admin") if "thrott" in key]


def test_the_first_mark_of_ours_takes_in_what_the_other_name_says() -> None:
    """What an operator sets from then on is the operator's."""
    cluster = cluster_with()
    cluster.done(cluster.move([4, 5, 6]))
    cluster.put(keys.OLD_RATES_REMOVAL, {"version": 1, "brokers": [1, 2]})
    set_by_hand(cluster, keys.broker_config("1"), **both(6))
    set_by_hand(cluster, keys.broker_config("2"), **both(6))
    cluster.succeed()
    assert reassign(cluster, {}) == {}
    assert alter_rates(cluster, {2: 9_000, 3: 9_000}) == {2: None, 3: None}
    assert marked(cluster) == (None, [2, 3])
    assert not cluster.has(keys.OLD_RATES_REMOVAL)
    assert broker_config(cluster, 1) == {}
    set_by_hand(cluster, keys.broker_config("1"), **both(8))
    complete(cluster)
    cluster.wait(2_000)
    assert [broker_config(cluster, b) for b in (1, 2, 3)] == [both(8), {}, {}]


@pytest.mark.parametrize("key", [keys.REPLICAS_REMOVAL, keys.RATES_REMOVAL, keys.OLD_RATES_REMOVAL])
def test_a_mark_that_cannot_be_read_is_reported_takes_nothing_back_and_goes_when_nothing_moves(key: str) -> None:
    cluster = cluster_with()
    assert reassign(cluster, {T: [4, 5, 6]}) == {T: None}
    cluster.put(key, b'{"brokers":')
    cluster.succeed()
    assert "not JSON" in cluster.findings()[key]
    assert broker_config(cluster, 4) == both(RATE)
    complete(cluster)
    cluster.wait(2_000)
    assert marked(cluster) == (None, None)
    assert not cluster.has(key)
    assert (broker_config(cluster, 4) == {}) is (key != keys.RATES_REMOVAL)
    assert (topic_config(cluster) == {}) is (key != keys.REPLICAS_REMOVAL)


def test_unknown_fields_of_a_mark_survive() -> None:
    cluster = cluster_with()
    cluster.done(cluster.move([4, 5, 6]))
    said = {
        "version": 2,
        "brokers": [1],
        "previous": {"1": {LEADER_RATE: {"set": ["5"], "was": "3", "by": "x"}}},
        "why": 1,
    }
    cluster.put(keys.RATES_REMOVAL, said)
    cluster.succeed()
    assert alter_rates(cluster, {1: 5_000}) == {1: None}
    mark = cluster.get(keys.RATES_REMOVAL)
    assert (mark["version"], mark["why"], mark["previous"]["1"][LEADER_RATE]["by"]) == (2, 1, "x")


def test_mark_that_another_client_wrote_or_removed_is_written_over() -> None:
    """What is known of it is what we wrote; the throttles go all the same."""
    cluster = cluster_with()
    assert reassign(cluster, {T: [4, 5, 6]}) == {T: None}
    cluster.delete(keys.REPLICAS_REMOVAL)
    cluster.put(keys.RATES_REMOVAL, {"version": 1, "brokers": [9]})
    ended(cluster)
