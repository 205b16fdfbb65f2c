"""The choice of a plan: topics, sizes, brokers and racks limit every kind of plan; what is left out has a reason."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from kedge.pipeline.errors import BadInput
from kedge.pipeline.stages.apply import apply
from kedge.pipeline.stages.check import check
from kedge.pipeline.stages.choice import Choice
from kedge.pipeline.stages.outlook import outlook
from kedge.pipeline.stages.requests import (
    Add,
    Demote,
    Drain,
    FixRacks,
    Leaders,
    Rebalance,
    ReducePartitions,
    Request,
    SetFactor,
    settings_of,
)
from tests.pipeline.snapshots import broker, clusters, loads, partition, tables
from tests.pipeline.test_plan import Tables, living, made, rows, size_of

Key = tuple[str, int]
Case = tuple[Tables, Request, Choice, Tables]
LEADERS = (Leaders, Demote)


def cluster(racks: dict[int, str], replicas: dict[Key, list[int]], size: int = 10) -> Tables:
    """Brokers by rack, and partitions of one size."""
    given = tables([broker(b, rack) for b, rack in racks.items()], [partition(*k, row) for k, row in replicas.items()])
    return {**given, "replica_load": loads(dict.fromkeys(replicas, size))}


def targets(found: Tables) -> dict[Key, list[int]]:
    return {(move["topic"], move["partition"]): move["target_replicas"] for move in rows(found, "plan_move")}


def reasons(found: Tables) -> Counter[tuple[int | None, str]]:
    return Counter((row["broker_id"], row["reason"]) for row in rows(found, "plan_reason"))


def held(found: Tables) -> dict[int, int]:
    return {row["broker_id"]: row["size_bytes_after"] for row in rows(found, "plan_load")}


@st.composite
def cases(draw: st.DrawFn, *, leaving: bool = False) -> Case:
    """A cluster, a request, a choice, and the plan. `leaving`: the request is to drain or to demote brokers."""
    given = draw(clusters())
    alive, racks = sorted(living(given)), living(given)
    assume(len(alive) >= 4)
    excluded = draw(st.sets(st.sampled_from(alive[:-1]), max_size=2))
    open_ = sorted(set(alive[2:]) - excluded)
    takers = draw(st.sampled_from(((), (alive[-1],), tuple(open_))))
    by_rack = racks[alive[-1]] is not None and draw(st.booleans())
    choice = Choice(
        topics=draw(st.sampled_from(((), ("t[01]",), ("t0",)))),
        exclude_topics=("t1",) if "t1" in {row["topic"] for row in rows(given, "partition")} else (),
        exclude_brokers=tuple(sorted(excluded)),
        to_brokers=(f"rack:{racks[alive[-1]]}",) if takers and by_rack else takers,
        min_size=draw(st.sampled_from((None, 10))),
        max_size=draw(st.sampled_from((None, 1000))),
        prefer_rack_local=draw(st.booleans()),
    )
    some: list[Request] = [Drain(tuple(alive[:2])), Demote((alive[0],))]
    more: list[Request] = [Add(((alive[-1], None),)), Rebalance(), FixRacks(), SetFactor(1), SetFactor(3), Leaders()]
    more += [Rebalance(by=("replicas",)), Rebalance(by=("bytes", "leaders"))]
    asked = draw(st.sampled_from(some if leaving else [*some, *more]))
    return given, asked, choice, made(given, asked, choice=choice)


def takers_of(given: Tables, choice: Choice) -> set[int]:
    racks = living(given)
    named = {b for b, rack in racks.items() if b in choice.to_brokers or f"rack:{rack}" in choice.to_brokers}
    return (named if choice.to_brokers else set(racks)) - set(choice.exclude_brokers)


@pytest.mark.slow
@given(cases())
def test_only_chosen_topics_and_sizes_are_changed(case: Case) -> None:
    given, _, choice, found = case
    sizes = size_of(given)
    for topic, number in targets(found):
        assert topic != "t1"
        assert topic in {"t0", "t1"} or not choice.topics
        assert (choice.min_size or 0) <= sizes[topic, number] <= (choice.max_size or 10**9)


@pytest.mark.slow
@given(cases())
def test_excluded_brokers_keep_what_they_have_and_get_nothing(case: Case) -> None:
    _, asked, choice, found = case
    for move in rows(found, "plan_move"):
        before, after = move["replicas"], move["target_replicas"]
        assert set(before) & set(choice.exclude_brokers) == set(after) & set(choice.exclude_brokers)
        if isinstance(asked, LEADERS):
            assert before[0] not in choice.exclude_brokers
            assert after[0] not in choice.exclude_brokers


@pytest.mark.slow
@given(cases())
def test_only_the_named_brokers_and_racks_take(case: Case) -> None:
    given, asked, choice, found = case
    takers = takers_of(given, choice)
    for move in rows(found, "plan_move"):
        assert set(move["target_replicas"]) - set(move["replicas"]) <= takers
    for row in rows(found, "plan_load") if isinstance(asked, LEADERS) else ():
        assert row["leaders_after"] <= row["leaders_before"] or row["broker_id"] in takers


@pytest.mark.slow
@given(cases())
def test_a_choice_never_worsens_the_spread_over_racks(case: Case) -> None:
    given, asked, _, found = case
    racks = {row["broker_id"]: row["rack"] for row in rows(given, "broker")}
    gone = set(asked.brokers) if isinstance(asked, Drain) else set()
    possible = len({rack for broker_id, rack in living(given).items() if broker_id not in gone})
    assume(None not in racks.values())
    for move in rows(found, "plan_move"):
        before = len({racks[b] for b in move["replicas"] if b in living(given)})
        after = len({racks[b] for b in move["target_replicas"]})
        assert after >= min(before, len(move["target_replicas"]), possible)


@pytest.mark.slow
@given(cases(leaving=True))
def test_what_a_choice_keeps_on_a_drained_broker_has_a_reason(case: Case) -> None:
    given, asked, _, found = case
    after = rows({"after": apply(given["partition"], found["plan_move"])}, "after")
    gone = set(asked.brokers)  # type: ignore[union-attr]
    left = {
        (row["topic"], row["partition"])
        for row in after
        if gone & set(row["replicas"] if isinstance(asked, Drain) else [row["replicas"][0], row["leader"]])
    }
    refused = {(row["topic"], row["partition"]) for row in rows(found, "plan_reason")}
    moved = set(targets(found)) if isinstance(asked, Demote) else set()  # they lead until the next election
    assert left - moved == refused
    assert rows(found, "plan")[0]["complete"] is not bool(refused)


def test_a_drain_of_one_topic_is_incomplete() -> None:
    given = cluster({1: "a", 2: "a", 3: "a"}, {("t", 0): [1], ("u", 0): [1], ("big", 0): [1]})
    found = made(given, Drain((1,)), choice=Choice(topics=("t",)))
    assert (set(targets(found)), rows(found, "plan")[0]["complete"]) == ({("t", 0)}, False)
    assert reasons(found) == {(None, "--topics or --exclude-topics leaves the topic out"): 2}


def test_a_partition_of_unknown_size_fits_no_limit() -> None:
    given = cluster({1: "a", 2: "a"}, {("t", 0): [1], ("t", 1): [1]})
    given["replica_load"] = loads({("t", 0): 10, ("t", 1): None})
    found = made(given, Drain((1,)), choice=Choice(max_size=10))
    assert set(targets(found)) == {("t", 0)}
    assert reasons(found) == {
        (None, "--min-size or --max-size leaves the size out, or the size is not known"): 1,
    }


@pytest.mark.parametrize("request_", [SetFactor(4), FixRacks()])
def test_partitions_that_are_not_chosen_are_no_part_of_the_goal(request_: Request) -> None:
    racks = {1: "a", 2: "a", 3: "b", 4: "c"}
    given = cluster(racks, {("t", 0): [1, 2, 3], ("u", 0): [1, 2, 3]})
    found = made(given, request_, choice=Choice(topics=("t",)))
    assert (set(targets(found)), rows(found, "plan")[0]["complete"]) == ({("t", 0)}, True)
    assert "RF" not in outlook({**given, **found})["violation_after"]["kind"].to_pylist()


def test_topics_are_reduced_only_where_chosen() -> None:
    given = cluster({1: "a"}, {(topic, p): [1] for topic in ("t", "u") for p in range(4)})
    found = made(given, ReducePartitions(1000, 1000.0), choice=Choice(exclude_topics=("u*",)))
    assert [row["topic"] for row in rows(found, "reduction")] == ["t"]


def test_a_replica_on_an_excluded_broker_is_never_removed() -> None:
    racks = {1: "a", 2: "a", 3: "b", 4: "c"}
    given = cluster(racks, {("t", 0): [1, 2, 3], ("u", 0): [2, 1, 3], ("v", 0): [1, 2]})
    both = made(given, FixRacks(), choice=Choice(exclude_brokers=(1, 2)))
    text = "--exclude-brokers leaves the broker as it is"
    assert (targets(both), set(reasons(both))) == ({}, {(1, text), (2, text)})
    one = made(given, FixRacks(), choice=Choice(exclude_brokers=(1,)))
    assert {key: set(row) for key, row in targets(one).items()} == {
        ("t", 0): {1, 3, 4}, ("u", 0): {1, 3, 4}, ("v", 0): {1, 3},
    }  # fmt: skip
    fewer = made(given, SetFactor(1), choice=Choice(exclude_brokers=(1, 3)))
    assert targets(fewer) == {("v", 0): [1]}
    assert {reason for _, reason in reasons(fewer)} == {text}


def test_the_rack_of_an_excluded_broker_still_counts() -> None:
    """Otherwise a drain would put a second replica into a rack, and the excluded broker would lack one for ever."""
    given = cluster({1: "a", 2: "a", 3: "b", 4: "c"}, {("t", 0): [1, 3]})
    found = made(given, Drain((3,)), choice=Choice(exclude_brokers=(4,)))
    text = "--to-brokers or --exclude-brokers leaves out every broker in the possible racks"
    assert (targets(found), reasons(found)) == ({}, {(3, text): 1})
    relaxed = made(given, Drain((3,)), choice=Choice(exclude_brokers=(4,), min_racks=1))
    assert targets(relaxed) == {("t", 0): [1, 2]}


def test_receivers_without_room_are_named_as_the_reason() -> None:
    given = cluster({1: "a", 2: "a", 3: "a"}, {("t", p): [1 if p < 6 else 2] for p in range(12)})
    texts = {
        "every broker in the possible racks would exceed the target level": made(given, Add(((2, None),))),
        "--to-brokers or --exclude-brokers leaves out every broker in the possible racks": made(
            given, Rebalance(), choice=Choice(to_brokers=(2,))
        ),
    }
    assert {text: {reason for _, reason in reasons(found)} for text, found in texts.items()} == {
        text: {text} for text in texts
    }


# --- racks


def uneven(count: int = 12, size: int = 10) -> Tables:
    """Racks with 3, 3 and 1 brokers, each partition in all of them; most bytes of a rack are on its first broker."""
    racks = {1: "a", 2: "a", 3: "a", 4: "b", 5: "b", 6: "b", 7: "c"}
    layout = {("t", p): [1 + (p % 4 == 0) + (p % 6 == 0), 4 + (p % 4 == 1) + (p % 6 == 1), 7] for p in range(count)}
    return cluster(racks, layout, size)


@pytest.mark.parametrize("tolerance", [0.0, 0.01])
def test_brokers_of_larger_racks_are_level_among_themselves(tolerance: float) -> None:
    found = made(uneven(), Rebalance(tolerance))
    assert held(found) == {1: 40, 2: 40, 3: 40, 4: 40, 5: 40, 6: 40, 7: 120}
    said = rows(found, "plan")[0]
    assert said["bytes_copied"] == said["bytes_bound"]
    assert said["complete"] is False
    assert reasons(found) == {(7, "the rack would lose its only replica, and every possible rack already has one"): 12}


def test_a_new_broker_in_a_small_rack_takes_half_of_it() -> None:
    given = uneven()
    found = made(given, Add(((8, "c"),)))
    assert (held(found)[7], held(found)[8]) == (60, 60)
    assert rows(found, "plan")[0]["complete"] is False, "they hold more than the mean of 45"
    assert {b for b, _ in reasons(found)} >= {7, 8}


def test_a_rack_that_cannot_hold_its_share_leaves_more_to_others() -> None:
    """Of two replicas one at most is in the rack of six brokers."""
    racks = dict.fromkeys(range(1, 7), "a") | {7: "b", 8: "c"}
    given = cluster(racks, {("t", p): [1 + p % 2, 7 if p < 18 else 8] for p in range(24)})
    assert held(made(given, Rebalance(0.0))) == {**dict.fromkeys(range(1, 7), 40), 7: 120, 8: 120}


@pytest.mark.parametrize("by", ["bytes", "replicas"])
def test_fewer_racks_let_uneven_racks_be_level(by: str) -> None:
    given = uneven(28)
    found = made(given, Rebalance(by=(by,)), choice=Choice(min_racks=2))
    assert (set(held(found).values()), rows(found, "plan")[0]["complete"]) == ({120}, True)
    racks = {row["broker_id"]: row["rack"] for row in rows(given, "broker")}
    assert {len({racks[b] for b in row}) for row in targets(found).values()} <= {2, 3}
    after = outlook({**given, **found})["violation_after"]
    assert after.num_rows == 0, "the report checks by the racks of the plan"


@pytest.mark.slow
@given(clusters(sound=True), st.integers(1, 4))
def test_racks_are_mended_up_to_the_minimum(given: Tables, least: int) -> None:
    found = made(given, FixRacks(), choice=Choice(min_racks=least))
    racks = {row["broker_id"]: row["rack"] for row in rows(given, "broker")}
    wanted = min(least, len(set(racks.values())))
    for row in rows(given, "partition"):
        replicas, key = row["replicas"], (row["topic"], row["partition"])
        needed = min(wanted, len(replicas))
        assert (key in targets(found)) == (len({racks[b] for b in replicas}) < needed)
        assert len({racks[b] for b in targets(found).get(key, replicas)}) >= needed
    after = {**given, "partition": apply(given["partition"], found["plan_move"])}
    assert "RACK" not in check(after, min_racks=least)["kind"].to_pylist()


def test_a_drained_replica_stays_in_its_rack_while_there_is_room() -> None:
    """Brokers of rack c are emptier, and free of the partitions."""
    racks, local = {1: "a", 2: "a", 3: "b", 4: "c", 5: "c"}, Choice(prefer_rack_local=True)
    given = cluster(racks, {("t", p): [1, 3] for p in range(4)} | {("u", p): [2] for p in range(2)})
    assert {b for row in targets(made(given, Drain((1,)))).values() for b in row} == {3, 4, 5}
    assert {b for row in targets(made(given, Drain((1,)), choice=local)).values() for b in row} == {2, 3}
    brokers = [broker(b, rack, disk=35 if b == 2 else 1000) for b, rack in racks.items()]
    found = targets(made({**given, "broker": tables(brokers, [])["broker"]}, Drain((1,)), choice=local))
    assert sorted(b for row in found.values() for b in row if b != 3) == [2, 4, 4, 5]


def test_levelling_uses_the_rack_of_the_source_first() -> None:
    given = cluster({1: "a", 2: "a", 3: "b"}, {("t", p): [1] for p in range(6)} | {("u", 0): [2]})
    assert held(made(given, Rebalance(0.5))) == {1: 30, 2: 20, 3: 20}
    assert held(made(given, Rebalance(0.5), choice=Choice(prefer_rack_local=True))) == {1: 30, 2: 30, 3: 10}
    counts = Rebalance(0.5, by=("replicas",))
    assert held(made(given, counts)) == {1: 30, 2: 20, 3: 20}
    assert held(made(given, counts, choice=Choice(prefer_rack_local=True))) == {1: 30, 2: 30, 3: 10}


# --- input


@pytest.mark.parametrize(
    "choice,message",
    [
        ({"topics": ("x",)}, r"unknown topics: \['x'\]"),
        ({"topics": ("t", "x*")}, r"unknown topics: \['x\*'\]"),
        ({"exclude_topics": ("x*", "y")}, r"unknown topics: \['x\*', 'y'\]"),
        ({"topics": ("t",), "exclude_topics": ("t*",)}, "--topics and --exclude-topics leave out every topic"),
        ({"exclude_brokers": (9,)}, r"unknown brokers: \[9\]"),
        ({"exclude_brokers": (1, 2)}, "--exclude-brokers leaves out every broker"),
        ({"to_brokers": (9,)}, r"unknown brokers: \[9\]"),
        ({"to_brokers": (2, "rack:z")}, r"unknown racks: \['z'\]; the snapshot has \['a', 'b', 'c'\]"),
        ({"to_brokers": (2, 3)}, r"--to-brokers: \[3\] are dead, draining or excluded"),
        ({"to_brokers": ("rack:c",)}, r"--to-brokers: every broker of racks \['c'\] is dead, draining or excluded"),
        ({"to_brokers": (2,), "exclude_brokers": (2,)}, r"--to-brokers: \[2\] are dead, draining or excluded"),
        ({"to_brokers": ("2",)}, "to-brokers: expected ids and rack:NAME, got '2'"),
        ({"min_size": 5, "max_size": 4}, "min-size, max-size: expected 0 or more"),
        ({"min_racks": 0}, "min-racks: expected at least 1, got 0"),
    ],
)
def test_a_choice_of_nothing_is_a_clear_error(choice: dict[str, object], message: str) -> None:
    brokers = [broker(1, "a"), broker(2, "b"), broker(3, "c", "dead")]
    given = {**tables(brokers, [partition("t", 0, [1])]), "replica_load": loads({("t", 0): 10})}
    with pytest.raises(BadInput, match=message):
        made(given, Rebalance(), choice=Choice(**choice))  # type: ignore[arg-type]


def test_a_new_broker_must_be_among_the_receivers() -> None:
    given = cluster({1: "a", 2: "a"}, {("t", 0): [1]})
    with pytest.raises(BadInput, match=r"brokers \[3\] are dead or draining, or left out"):
        made(given, Add(((3, "a"),)), choice=Choice(to_brokers=(2,)))


def test_the_choice_is_stored_with_the_plan() -> None:
    given = cluster({1: "a", 2: "a"}, {("t", 0): [1]})
    (said,) = rows(made(given, Drain((1,)), choice=Choice(topics=("t*",), to_brokers=("rack:a",))), "plan")
    settings = settings_of(said)
    assert (settings["topics"], settings["to_brokers"], settings["min_size"]) == (["t*"], ["rack:a"], None)
