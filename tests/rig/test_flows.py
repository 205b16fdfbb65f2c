"""What flows between brokers, as it is counted and watched."""

from __future__ import annotations

import pytest

from kedge.controller.metrics import MeterValue
from kedge.controller.quota import Family
from kedge.controller.simulated.flows import Flow, Flows

MOVES: Family = "reassignment"
ALL: Family = "replication"


def flow(*points: tuple[int, int]) -> Flow:
    return Flow(1, "leader", None, list(points))


GROWN = flow((100, 50), (110, 60), (125, 60), (130, 60), (150, 100))


def test_bytes_and_rate_are_those_of_the_watch() -> None:
    assert GROWN.bytes == 50
    assert [GROWN.rate(window_ms) for window_ms in (20, 25, 39, 40, 1_000)] == [2000.0, 1600.0, 1600.0, 1000.0, 1000.0]


def test_flow_without_time_has_no_rate() -> None:
    assert flow((100, 50)).rate() == flow((100, 50), (100, 70)).rate() == 0.0


def test_every_window_has_a_rate() -> None:
    """From each step on, to the first step that ends it; a window that is not over has none."""
    assert GROWN.rates(20) == [10 * 1000 / 25, 0.0, 40 * 1000 / 25, 2000.0]
    assert GROWN.rates(20, after_ms=25) == [1600.0, 2000.0]
    assert GROWN.rates(20, after_ms=26) == [2000.0]
    assert GROWN.rates(51) == []


@pytest.mark.parametrize(
    "points, longest_ms",
    [
        (((100, 50),), 0),
        (((100, 50), (110, 60)), 0),
        (((100, 50), (110, 50), (125, 50), (130, 51), (140, 51)), 25),
        (((100, 50), (110, 50), (125, 51), (150, 51), (160, 51)), 35),
    ],
)
def test_silence_is_the_longest_time_without_a_byte(points: tuple[tuple[int, int], ...], longest_ms: int) -> None:
    assert flow(*points).silent_ms() == longest_ms


def test_bytes_count_for_each_family_that_applies() -> None:
    flows = Flows(lambda: 0.0)
    flows.count(1, "leader", (MOVES, ALL), 100)
    flows.count(1, "leader", (ALL,), 20)
    flows.count(1, "leader", (), 3)
    flows.count(2, "follower", (MOVES,), 7)
    assert [flows.bytes(1, "leader", family) for family in (None, "replication", "reassignment")] == [123, 120, 100]
    assert [flows.bytes(1, "follower", None), flows.bytes(2, "leader", None)] == [0, 0]
    assert [flows.bytes(2, "follower", family) for family in (None, "replication", "reassignment")] == [7, 0, 7]


def test_watch_begins_with_what_was_counted_before() -> None:
    flows = Flows(lambda: 0.0)
    flows.count(1, "leader", (MOVES,), 100)
    flows.count(1, "leader", (), 5)
    watched, whole = flows.watch(30, 1, "leader", "reassignment"), flows.watch(30, 1, "leader", None)
    flows.count(1, "leader", (MOVES,), 10)
    flows.count(1, "follower", (MOVES,), 1)
    flows.count(2, "leader", (MOVES,), 1)
    flows.step(40)
    assert (watched.broker, watched.side, watched.family) == (1, "leader", "reassignment")
    assert (watched.points, whole.points) == ([(30, 100), (40, 110)], [(30, 105), (40, 115)])


def test_what_belongs_to_a_family_is_metered_by_broker() -> None:
    """As a host meters it (KIP-455, KIP-542): reassignment on its side, and nothing without a family."""
    flows = Flows(lambda: 0.0)
    flows.count(1, "leader", (MOVES, ALL), 100)
    flows.count(1, "leader", (ALL,), 20)
    flows.count(2, "leader", (), 3)
    name = "kafka.server:type=BrokerTopicMetrics,name=ReassignmentBytes{}PerSec,broker-id={}"
    metered = {broker: flows.meters(broker).metrics() for broker in (1, 2)}
    found = {key: metered[key[1]][name.format(*key)] for key in (("Out", 1), ("In", 1), ("Out", 2))}
    assert {key: value.count for key, value in found.items() if isinstance(value, MeterValue)} == {
        ("Out", 1): 100,
        ("In", 1): 0,
        ("Out", 2): 0,
    }
