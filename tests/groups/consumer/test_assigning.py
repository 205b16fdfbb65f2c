"""The assignors, and which one a group uses."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kedge.controller.groups.consumer.assigning import ASSIGNORS, Asking, Targets, by_range, uniform
from kedge.controller.groups.consumer.values import NONE, Partitions, Topic, Topics
from tests.groups.consumer.driving import Consumers, of

NAMES = ["t0", "t1", "t2"]
WANTED = st.frozensets(st.sampled_from([*NAMES, "gone"]))
COUNTS = st.dictionaries(st.sampled_from(NAMES), st.integers(1, 7))


def topics_of(counts: dict[str, int]) -> Topics:
    return Topics({name: Topic(f"{name}-id", count) for name, count in counts.items()})


def asking(wanted: Iterable[frozenset[str]], had: Targets | None = None) -> list[Asking]:
    """Members `m0`, `m1` and so on."""
    return [Asking(f"m{n}", each, (had or {}).get(f"m{n}", NONE), (True, f"m{n}")) for n, each in enumerate(wanted)]


def reachable(members: Iterable[Asking], topics: Topics) -> Partitions:
    """The partitions that some member wants."""
    names = frozenset().union(*(member.topics for member in members)) & topics.by_name.keys()
    return frozenset((topics.by_name[n].topic_id, p) for n in names for p in range(topics.by_name[n].partitions))


def check(members: list[Asking], topics: Topics, targets: Targets) -> None:
    """Each partition that some member wants belongs to one member, which wants it."""
    assert targets.keys() == {member.member_id for member in members}
    given_out = [tp for partitions in targets.values() for tp in partitions]
    assert len(given_out) == len(set(given_out))
    assert set(given_out) == reachable(members, topics)
    for member in members:
        assert {topics.names[topic_id] for topic_id, _ in targets[member.member_id]} <= member.topics


@pytest.mark.parametrize("assignor", ASSIGNORS.values(), ids=ASSIGNORS)
@given(wanted=st.lists(WANTED, max_size=6), counts=COUNTS)
@settings(max_examples=100)
def test_each_partition_belongs_to_one_member(
    assignor: Callable[[Iterable[Asking], Topics], Targets], wanted: list[frozenset[str]], counts: dict[str, int]
) -> None:
    """Which subscribes to its topic."""
    members, topics = asking(wanted), topics_of(counts)
    check(members, topics, assignor(members, topics))


@given(wanted=st.lists(WANTED, max_size=6), later=st.lists(WANTED, max_size=6), counts=COUNTS, grown=COUNTS)
@settings(max_examples=200)
def test_uniform_is_level_and_sticky(
    wanted: list[frozenset[str]], later: list[frozenset[str]], counts: dict[str, int], grown: dict[str, int]
) -> None:
    """No partition could be moved to a member that has two fewer. The result depends on the order of members nowhere,
    and is the same when nothing changed."""
    before = uniform(asking(wanted), topics_of(counts))
    members, topics = asking(later, before), topics_of(grown)
    targets = uniform(members, topics)
    check(members, topics, targets)
    for light, heavy in itertools.permutations(members, 2):
        shared = light.topics & heavy.topics
        movable = [tp for tp in targets[heavy.member_id] if topics.names[tp[0]] in shared]
        assert not movable or len(targets[heavy.member_id]) - len(targets[light.member_id]) <= 1
    assert uniform(members[::-1], topics) == targets
    assert uniform(asking(later, targets), topics) == targets


@given(count=st.integers(1, 30), before=st.integers(1, 8), after=st.integers(1, 8))
def test_uniform_moves_as_few_as_possible(count: int, before: int, after: int) -> None:
    """With one topic: as many as new members need, or as members had that are gone."""
    topics, wants = topics_of({"t0": count}), frozenset({"t0"})
    had = uniform(asking([wants] * before), topics)
    targets = uniform(asking([wants] * after, had), topics)
    kept = sum(len(had[member_id] & targets[member_id]) for member_id in had.keys() & targets.keys())
    each, more = divmod(count, after)
    sizes = sorted((each + (place < more) for place in range(after)), reverse=True)
    assert sorted(map(len, targets.values()), reverse=True) == sizes
    stay = sorted((len(had[f"m{n}"]) for n in range(min(before, after))), reverse=True)
    assert kept == sum(min(has, size) for has, size in zip(stay, sizes, strict=False))


def test_uniform_gives_members_of_one_topic_enough() -> None:
    """A member of two topics leaves those of the shared one to them."""
    members = asking([frozenset({"t0"}), frozenset({"t0", "t1"})])
    targets = uniform(members, topics_of({"t0": 4, "t1": 4}))
    assert targets == {"m0": of("t0", 0, 1, 2, 3), "m1": of("t1", 0, 1, 2, 3)}


def test_uniform_levels_again_after_it_moved_others() -> None:
    """A member that gave partitions of one topic away gets more of another one."""
    had = {"m0": of("t0", 0, 1, 2, 3, 4, 5), "m1": of("t1", 0, 1)}
    wanted = [frozenset({"t0"}), frozenset({"t0", "t1"}), frozenset({"t1"})]
    targets = uniform(asking(wanted, had), topics_of({"t0": 6, "t1": 2}))
    assert [len(found) for found in targets.values()] == [3, 3, 2]


def test_static_members_keep_first() -> None:
    """Where two had the same partition, which a change of the protocol may leave."""
    both = (
        Asking("z", frozenset({"t0"}), of("t0", 0), (False, "i")),
        Asking("a", frozenset({"t0"}), of("t0", 0), (True, "a")),
    )
    assert uniform(both, topics_of({"t0": 2}))["z"] == of("t0", 0)


@pytest.mark.parametrize(
    "counts, wanted, expected",
    [
        ({"t0": 7}, ["t0"] * 3, ["000102", "0304", "0506"]),
        ({"t0": 6}, ["t0"] * 3, ["0001", "0203", "0405"]),
        ({"t0": 2}, ["t0"] * 3, ["00", "01", ""]),
        ({"t0": 3, "t1": 3}, ["t0 t1"] * 2, ["00011011", "0212"]),
        ({"t0": 3, "t1": 3}, ["t0", "t0 t1", "t1"], ["0001", "021011", "12"]),
        ({"t0": 1}, ["gone", "t0"], ["", "00"]),
    ],
)
def test_range_gives_partitions_in_a_row(counts: dict[str, int], wanted: list[str], expected: list[str]) -> None:
    """The first members get one more where they do not divide; equal numbers of several topics go together. Expected:
    topic and partition, two digits each."""
    targets = by_range(asking(frozenset(each.split()) for each in wanted), topics_of(counts))
    rows = ["".join(f"{topic[1]}{number}" for topic, number in sorted(found)) for found in targets.values()]
    assert rows == expected


def test_range_orders_members_by_instance_id() -> None:
    """A static member gets the same partitions when it is back under another id. Those without one come last."""
    driven = Consumers()
    z = driven.client("z", instance_id="1", assignor="range")
    b, a = driven.client("b"), driven.client("a", instance_id="2")
    driven.reconcile(z, b, a)
    assert [client.owned for client in (z, a, b)] == [of("orders", 0, 1), of("orders", 2), of("orders", 3)]


# --- the choice


@pytest.mark.parametrize(
    "preferred, chosen",
    [
        ([None], "uniform"),
        (["range"], "range"),
        (["range", None, None], "range"),
        (["range", "uniform", "range"], "range"),
        (["uniform", "range", "uniform"], "uniform"),
        (["range", "uniform"], "range"),
        (["uniform", "range"], "range"),
    ],
)
def test_group_uses_the_assignor_of_most_members(preferred: list[str | None], chosen: str) -> None:
    """Members without a preference do not count. Of two with as many, it is the first by name."""
    driven = Consumers()
    for number, assignor in enumerate(preferred):
        driven.client(f"m{number}", assignor=assignor)
    assert driven.described().assignor == driven.consumer.assignor == chosen


def test_other_assignor_is_used_with_the_next_target() -> None:
    """A preference alone causes no rebalance."""
    driven = Consumers(topics={"orders": 2, "payments": 2})
    a, b = driven.clients("b", "a", topics=frozenset({"orders", "payments"}))
    for client in (a, b):
        client.beat(assignor="range")
    assert driven.consumer.epoch == 2
    driven.create(orders=3, payments=3)
    driven.reconcile(a, b)
    assert b.owned == of("orders", 0, 1) | of("payments", 0, 1)
