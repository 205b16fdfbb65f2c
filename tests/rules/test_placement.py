"""Placement by racks (KIP-36): the vectors of the specification, and its guarantees on clusters of every shape."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import hypothesis.strategies as st
import pytest
from hypothesis import given

from kedge.controller.model import events as e
from kedge.controller.model.values import Replicas
from kedge.controller.rules.placement import (
    alternate_racks,
    assign_replicas,
    continue_rotation,
    replace_broker,
)
from tests.rules.world import World

SAMPLE = {0: "r1", 1: "r3", 2: "r3", 3: "r2", 4: "r2", 5: "r1"}
Racks = Mapping[int, str | None]


def told(assignments: tuple[Replicas, ...]) -> str:
    return " ".join("".join(map(str, replicas)) for replicas in assignments)


@pytest.mark.checklist(140)
def test_the_list_takes_one_broker_per_rack_in_turn() -> None:
    """Racks by name, brokers within a rack by id, exhausted racks passed over."""
    assert alternate_racks(SAMPLE) == (0, 3, 1, 5, 4, 2)
    assert alternate_racks({7: "b", 1: "a", 2: "a", 3: "a"}) == (1, 7, 2, 3)


@pytest.mark.checklist(141, 142, 143, 150)
@pytest.mark.parametrize(
    "racks,partitions,factor,expected",
    [
        (SAMPLE, 12, 3, "031 315 154 542 420 203 042 320 103 531 415 254"),
        ({0: "r1", 1: "r2", 2: "r2"}, 3, 2, "01 10 20"),
        (dict.fromkeys(range(5)), 10, 3, "012 123 234 340 401 023 134 240 301 412"),
        ({0: "r1", 1: "r1", 2: "r2", 3: "r2"}, 4, 4, "0213 2130 1302 3021"),
        ({4: None}, 3, 1, "4 4 4"),
    ],
)
def test_a_fixed_start_gives_the_vectors(racks: Racks, partitions: int, factor: int, expected: str) -> None:
    """With start and shift 0 the placement is that of the specification, digit by digit."""
    assert told(assign_replicas(racks, partitions, factor, start=0, shift=0)) == expected


@st.composite
def clusters(draw: st.DrawFn, *, equal_racks: bool = False, rackless: bool = False) -> dict[int, str | None]:
    ids = draw(st.lists(st.integers(0, 3000), min_size=1, max_size=12, unique=True))
    if rackless:
        return dict.fromkeys(ids)
    count = draw(st.integers(1, len(ids)))
    if equal_racks:
        ids = ids[: len(ids) // count * count]
    return {broker: f"rack{i % count}" for i, broker in enumerate(ids)}


def place(data: st.DataObject, racks: Racks, *, rounds: int = 2) -> tuple[tuple[Replicas, ...], int]:
    """`rounds` partitions per broker from a random start; what was placed, and the replication factor."""
    factor = data.draw(st.integers(1, len(racks)))
    start, shift = data.draw(st.integers(0, 50)), data.draw(st.integers(0, 50))
    return assign_replicas(racks, rounds * len(racks), factor, start=start, shift=shift), factor


@pytest.mark.slow
@pytest.mark.checklist(144, 148)
@given(clusters() | clusters(rackless=True), st.integers(1, 4), st.data())
def test_every_broker_leads_as_many_and_holds_none_twice(racks: Racks, rounds: int, data: st.DataObject) -> None:
    """With k times as many partitions as brokers every broker leads k of them; no list names a broker twice."""
    placed, factor = place(data, racks, rounds=rounds)
    assert Counter(replicas[0] for replicas in placed) == dict.fromkeys(racks, rounds)
    assert all(len(set(replicas)) == len(replicas) == factor for replicas in placed)


@pytest.mark.checklist(146, 147)
@given(clusters(), st.data())
def test_replicas_are_spread_over_racks(racks: Racks, data: st.DataObject) -> None:
    """Up to as many replicas as racks: no rack holds two; from as many on: every rack holds one."""
    placed, factor = place(data, racks)
    count = len(set(racks.values()))
    for replicas in placed:
        used = {racks[broker] for broker in replicas}
        assert len(used) == min(factor, count)


@pytest.mark.checklist(145)
@given(clusters(equal_racks=True), st.data())
def test_equal_racks_hold_as_many_replicas_per_broker(racks: Racks, data: st.DataObject) -> None:
    """Where every rack has as many brokers, every broker holds k times RF replicas after a whole turn of the list."""
    placed, factor = place(data, racks, rounds=3)
    assert Counter(broker for replicas in placed for broker in replicas) == dict.fromkeys(racks, 3 * factor)


@pytest.mark.checklist(149)
@given(clusters(rackless=True) | clusters(), st.integers(0, 30))
def test_the_start_turns_the_list(racks: Racks, start: int) -> None:
    """The leader of partition 0 is the broker at the start index, so that two random starts differ."""
    brokers = alternate_racks(racks) if None not in racks.values() else sorted(racks)
    placed = assign_replicas(racks, 1, 1, start=start, shift=0)
    assert placed == ((brokers[start % len(brokers)],),)


@pytest.mark.checklist(152)
def test_some_brokers_without_rack_make_the_placement_blind() -> None:
    """With a rack on some brokers only, the list is by id and racks are not looked at."""
    partial: Racks = {0: "a", 1: "a", 2: None}
    blind = dict.fromkeys(partial)
    assert assign_replicas(partial, 6, 2, start=1, shift=1) == assign_replicas(blind, 6, 2, start=1, shift=1)


@pytest.mark.checklist(156)
@given(clusters() | clusters(rackless=True), st.integers(1, 10), st.integers(1, 10), st.data())
def test_added_partitions_go_on_with_the_rotation(racks: Racks, present: int, added: int, data: st.DataObject) -> None:
    """Leaders of the added partitions follow those of the present ones, round the same list."""
    factor = data.draw(st.integers(1, len(racks)))
    start = data.draw(st.integers(0, 20))
    whole = assign_replicas(racks, present + added, factor, start=start, shift=start)
    again = continue_rotation(racks, whole[0][0])
    grown = assign_replicas(racks, added, factor, start=again, shift=again, first_partition=present)
    assert [replicas[0] for replicas in grown] == [replicas[0] for replicas in whole[present:]]
    assert all(len(set(replicas)) == factor for replicas in grown)


@pytest.mark.checklist(156)
def test_added_partitions_have_the_factor_of_the_first_one_and_its_racks() -> None:
    world = World()
    racks = {1: "a", 2: "a", 3: "b", 4: "b", 5: "c", 6: "c"}
    for broker, rack in racks.items():
        world.plant_broker(broker, rack)
    world.run(e.CreateTopic(5, "t", 2, 2, None, {}, False, "id", 1, 0))
    before = [world.partition("t", number).replicas for number in (0, 1)]
    world.run(e.CreatePartitions(6, "t", 8, None))
    after = [world.partition("t", number).replicas for number in range(8)]
    assert after[:2] == before
    assert {len(replicas) for replicas in after} == {2}
    assert all(len({racks[broker] for broker in replicas}) == 2 for replicas in after)
    assert [replicas[0] for replicas in after[:6]] == [3, 5, 2, 4, 6, 1]


def test_a_rotation_whose_first_broker_is_gone_goes_on_with_the_next_id() -> None:
    """The start is the next higher id, the first of the list where there is none."""
    assert continue_rotation(SAMPLE, 3) == 1
    assert continue_rotation({broker: rack for broker, rack in SAMPLE.items() if broker != 3}, 3) == 1  # broker 4
    assert continue_rotation(SAMPLE, 6) == 0
    assert continue_rotation(dict.fromkeys([5, 7]), 6) == 1


@pytest.mark.parametrize("factor", [0, -1, 7])
def test_a_factor_that_no_cluster_can_hold_is_refused(factor: int) -> None:
    """ValueError names the factor; nothing is placed."""
    with pytest.raises(ValueError, match=f"replication factor {factor} with 6 brokers"):
        assign_replicas(SAMPLE, 1, factor, start=0, shift=0)


@pytest.mark.slow
@given(clusters() | clusters(rackless=True), st.data())
def test_a_replacement_keeps_the_rack_rule_where_one_can(racks: Racks, data: st.DataObject) -> None:
    """The leaving broker's place goes to one that spreads the replicas over as many racks as any choice would."""
    placed, _ = place(data, racks, rounds=1)
    replicas = data.draw(st.sampled_from(placed))
    leaving = data.draw(st.sampled_from(replicas))
    loads = Counter(broker for one in placed for broker in one)
    others = [broker for broker in racks if broker not in replicas]
    if not others:
        with pytest.raises(ValueError, match="no broker is left"):
            replace_broker(replicas, leaving, racks, loads)
        return
    after = replace_broker(replicas, leaving, racks, loads)
    place_of = replicas.index(leaving)
    chosen = after[place_of]
    assert (after[:place_of], after[place_of + 1 :]) == (replicas[:place_of], replicas[place_of + 1 :])
    assert chosen in others
    spread = {broker: len({racks[b] for b in (*after[:place_of], broker, *after[place_of + 1 :])}) for broker in others}
    assert spread[chosen] == max(spread.values())
    rivals = [broker for broker in others if spread[broker] == spread[chosen]]
    assert chosen == min(rivals, key=lambda broker: (loads[broker], broker))


def test_followers_shift_by_one_more_at_each_pass_through_the_list() -> None:
    """Also from the second pass to the third."""
    placed = assign_replicas(dict.fromkeys(range(4)), 12, 2, start=0, shift=0)
    assert [replicas[1] for replicas in placed] == [1, 2, 3, 0, 2, 3, 0, 1, 3, 0, 1, 2]


def test_a_broker_without_a_known_load_has_none() -> None:
    racks = dict.fromkeys([1, 2, 3, 4, 5])
    assert replace_broker((1, 2), 2, racks, {3: 1, 5: 2}) == (1, 4)
    assert replace_broker((1, 2), 2, racks, {3: 1, 4: 1, 5: 2}) == (1, 3)
