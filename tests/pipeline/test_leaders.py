"""Preferred leaders: held against every way that there is (small clusters) and against paths (larger ones)."""

from __future__ import annotations

import json
from collections import Counter
from itertools import product
from math import ceil

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kedge.pipeline.kernel.cluster import NOBODY, Bools, Ints, leaders_per_broker
from kedge.pipeline.kernel.leaders import even_leaders
from tests.kit.data import DATA


def matrix(rows: list[list[int]]) -> Ints:
    width = max(map(len, rows))
    return np.array([row + [NOBODY] * (width - len(row)) for row in rows], np.int64)


def everywhere(replicas: Ints) -> tuple[Bools, Bools]:
    return np.ones(len(replicas), np.bool_), np.ones(int(replicas.max()) + 1, np.bool_)


def counts(replicas: Ints, may_lead: Bools) -> list[int]:
    found: list[int] = sorted(leaders_per_broker(replicas, len(may_lead))[may_lead].tolist(), reverse=True)
    return found


@st.composite
def small(draw: st.DrawFn) -> tuple[Ints, Bools, Bools]:
    brokers = draw(st.integers(2, 6))
    row = st.lists(st.integers(0, brokers - 1), min_size=1, max_size=3, unique=True)
    rows = draw(st.lists(row, min_size=1, max_size=7))
    touched = draw(st.lists(st.integers(0, 4), min_size=len(rows), max_size=len(rows)))
    may_lead = draw(st.lists(st.integers(0, 5), min_size=brokers, max_size=brokers))
    return matrix(rows), np.array(touched) > 0, np.array(may_lead) > 0


@pytest.mark.slow
@given(small())
def test_counts_are_the_least_of_all_ways_and_rows_changed_the_fewest_of_those(case: tuple[Ints, Bools, Bools]) -> None:
    replicas, touched, may_lead = case
    ways = [
        [int(first), *(int(b) for b in others if b != NOBODY and may_lead[b] and touches and may_lead[first])]
        for (first, *others), touches in zip(replicas, touched, strict=True)
    ]

    def worth(way: tuple[int, ...]) -> tuple[list[int], int]:
        led = Counter(way)
        numbers = sorted((led[b] for b in np.nonzero(may_lead)[0].tolist()), reverse=True)
        return numbers, sum(new != old for new, old in zip(way, replicas[:, 0], strict=True))

    found = even_leaders(replicas, touched, may_lead)
    assert worth(tuple(found[:, 0].tolist())) == min(map(worth, product(*ways)))
    assert (np.sort(found, axis=1) == np.sort(replicas, axis=1)).all()
    assert (found[~touched] == replicas[~touched]).all()


@pytest.mark.parametrize("seed", range(4))
def test_in_larger_clusters_no_broker_reaches_one_that_leads_two_fewer(seed: int) -> None:
    """The sign of the optimum, looked for by other means: reachability over partitions."""
    random = np.random.default_rng(seed)
    brokers = 24
    near = random.integers(0, brokers, 1500)  # rows are of neighbours, so that paths are long
    replicas = np.stack([near, (near + 1 + random.integers(0, 3, 1500)) % brokers], axis=1)
    replicas.sort(axis=1)
    replicas[:300] = [0, 1]  # and some brokers cannot give what they have
    found = even_leaders(replicas, *everywhere(replicas))
    led = leaders_per_broker(found, brokers)
    reach = np.eye(brokers, dtype=np.bool_)
    reach[found[:, 0], found[:, 1]] = True
    for _ in range(6):
        reach = reach @ reach
    assert not (reach & (led[:, None] >= led[None, :] + 2)).any()
    assert led.max() < leaders_per_broker(replicas, brokers).max()


def test_a_group_of_brokers_above_the_mean_of_all_is_evened_among_itself() -> None:
    replicas = matrix([[0, 1]] * 8 + [[1, 0]] * 4 + [[2, 3], [3, 2]])
    found = even_leaders(replicas, *everywhere(replicas))
    assert leaders_per_broker(found, 4).tolist() == [6, 6, 1, 1]
    assert int((found != replicas).any(axis=1).sum()) == 2


def test_brokers_below_the_mean_are_evened_too() -> None:
    replicas = matrix([[0]] * 9 + [[1, 2]] * 4)
    found = even_leaders(replicas, *everywhere(replicas))
    assert leaders_per_broker(found, 3).tolist() == [9, 2, 2]


def test_a_row_that_comes_back_to_its_leader_is_as_it_was() -> None:
    """Who leads is what counts: by a detour, rows would be counted as changed, and written, without need."""
    replicas = matrix([[0, 1, 2]] * 4 + [[1, 2, 0]] * 3 + [[2, 0, 1]])
    found = even_leaders(replicas, *everywhere(replicas))
    assert sorted(leaders_per_broker(found, 3).tolist()) == [2, 3, 3]
    changed = (found != replicas).any(axis=1)
    assert (found[changed, 0] != replicas[changed, 0]).all()
    assert int(changed.sum()) == 1


def test_an_uneven_map_comes_to_the_least_that_it_allows() -> None:
    """More than the mean of all brokers: the fullest ones have to lead what they alone hold."""
    listed = json.loads((DATA / "map_many_brokers.json").read_bytes())["partitions"]
    held = Counter(broker for entry in listed for broker in entry["replicas"])
    fullest = [broker for broker, _ in held.most_common()]
    replicas = matrix([[fullest.index(broker) for broker in entry["replicas"]] for entry in listed])
    least = max(ceil((replicas.max(axis=1) < first).sum() / first) for first in range(1, len(fullest) + 1))
    touched, may_lead = everywhere(replicas)
    assert max(counts(replicas, may_lead)) > least > ceil(len(listed) / len(fullest))
    assert counts(even_leaders(replicas, touched, may_lead), may_lead)[0] == least
