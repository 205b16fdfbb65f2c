"""Crashes and lost replies at every commit of a scenario: it is run once to count its commits, then once per commit and
kind of trouble, and ends the same each time."""

from __future__ import annotations

import pytest

from kedge.controller.model.values import Settings, TopicPartition
from kedge.controller.rig import Rig
from kedge.controller.rig.outside import submit_by_key
from tests.simulation.clusters import AFTER, BEFORE, ORDERS, asked, leading, orders, settle
from tests.simulation.enumeration import CRASHES, LOSSES, Scenario, crashed, lost, named, until_so

CLICKS = TopicPartition("clicks", 0)


def _rig(settings: Settings) -> Rig:
    rig = orders(records=50, settings=settings)
    rig.create_topic("clicks", replicas=[[1, 2]])
    return rig


def _ask(rig: Rig, target: tuple[int, ...] | None) -> None:
    """Ask until it is so: the active controller may die before the answer."""

    def is_so() -> bool:
        partition = rig.partition(ORDERS)
        return target in {partition.target_replicas, partition.replicas if partition.move is None else ()}

    until_so(rig, is_so, lambda: asked(leading(rig), target))


def move(rig: Rig) -> None:
    _ask(rig, AFTER)


def override(rig: Rig) -> None:
    rig.mishaps.pause_broker(6)
    _ask(rig, AFTER)
    rig.run(100)
    _ask(rig, (1, 2, 5))
    rig.mishaps.resume_broker(6)


def cancel(rig: Rig) -> None:
    rig.mishaps.pause_broker(6)
    _ask(rig, AFTER)
    rig.run(100)
    _cancel(rig)
    rig.run(200)
    rig.mishaps.resume_broker(6)


def shrink(rig: Rig) -> None:
    _ask(rig, (2,))


def grow(rig: Rig) -> None:
    _ask(rig, (1, 2, 3, 4))


def reorder(rig: Rig) -> None:
    _ask(rig, (3, 1, 2))


def broker_returns_with_an_open_intent(rig: Rig) -> None:
    rig.mishaps.kill_broker(3)
    _ask(rig, (1, 2))
    rig.run(100)
    rig.mishaps.restart_broker(3)


def legacy_submit(rig: Rig) -> None:
    """A plan of two, one of which is done at once: the key is written once more, and goes with the other."""
    submit_by_key(rig, {ORDERS: AFTER, CLICKS: (4, 5), TopicPartition("nowhere", 0): (1,)})
    rig.run(200)


def legacy_removal(rig: Rig) -> None:
    """One entry is done and stays in the key for a while, the other is not."""
    rig.mishaps.pause_broker(5)
    submit_by_key(rig, {ORDERS: (3, 1, 2), CLICKS: (4, 5)})
    rig.run(1_500)
    rig.mishaps.resume_broker(5)


def legacy_done_and_requested_again(rig: Rig) -> None:
    """An entry is done and still in the key when a request moves its partition back."""
    rig.mishaps.pause_broker(5)
    submit_by_key(rig, {ORDERS: (3, 1, 2), CLICKS: (4, 5)})
    rig.until(lambda: rig.partition(ORDERS).replicas == (3, 1, 2), what="the entry is done")
    _ask(rig, BEFORE)
    rig.mishaps.resume_broker(5)


def legacy_overridden(rig: Rig) -> None:
    """A request comes while the move of an entry runs."""
    rig.mishaps.pause_broker(6)
    submit_by_key(rig, {ORDERS: AFTER, CLICKS: (4, 5)})
    rig.until(lambda: rig.partition(ORDERS).target_replicas == AFTER, what="the move runs")
    _ask(rig, (1, 2, 5))
    rig.mishaps.resume_broker(6)


def legacy_cancelled(rig: Rig) -> None:
    """A request cancels the move of an entry."""
    rig.mishaps.pause_broker(6)
    submit_by_key(rig, {ORDERS: AFTER, CLICKS: (4, 5)})
    rig.until(lambda: rig.partition(ORDERS).target_replicas == AFTER, what="the move runs")
    _cancel(rig)
    rig.mishaps.resume_broker(6)


def _cancel(rig: Rig) -> None:
    """Ask until nothing moves any more."""
    until_so(rig, lambda: rig.partition(ORDERS).move is None, lambda: asked(leading(rig), None))


CANCELLED = frozenset({(*BEFORE, 4, 5), (*BEFORE, 5, 4), (*BEFORE, 4), (*BEFORE, 5), BEFORE})
SCENARIOS: tuple[tuple[Scenario, frozenset[tuple[int, ...]]], ...] = (
    (move, frozenset({AFTER})),
    (override, frozenset({(1, 2, 5)})),
    (cancel, CANCELLED),
    (shrink, frozenset({(2,)})),
    (grow, frozenset({(1, 2, 3, 4)})),
    (reorder, frozenset({(3, 1, 2)})),
    (broker_returns_with_an_open_intent, frozenset({(1, 2)})),
    (legacy_submit, frozenset({AFTER})),
    (legacy_removal, frozenset({(3, 1, 2)})),
    (legacy_done_and_requested_again, frozenset({BEFORE})),
    (legacy_overridden, frozenset({(1, 2, 5)})),
    (legacy_cancelled, CANCELLED),
)


def _end(scenario: Scenario, ends: frozenset[tuple[int, ...]]) -> Scenario:
    """Where the partition that is asked for ends, and the one beside it, which every plan by key names as well."""
    beside = (4, 5) if named(scenario).startswith("legacy") else (1, 2)

    def end(rig: Rig) -> None:
        rig.mishaps.heal()
        settle(rig)
        assert rig.partition(ORDERS).replicas in ends
        assert rig.partition(CLICKS).replicas == beside

    return end


@pytest.mark.slow
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("scenario,ends", SCENARIOS, ids=named)
def test_no_lost_commit_changes_where_it_ends(scenario: Scenario, ends: frozenset[tuple[int, ...]], loss: str) -> None:
    lost(_rig, scenario, _end(scenario, ends), loss)


@pytest.mark.checklist(112, 113)
@pytest.mark.full
@pytest.mark.parametrize("crash", CRASHES)
@pytest.mark.parametrize("scenario,ends", SCENARIOS, ids=named)
def test_no_crash_changes_where_it_ends(scenario: Scenario, ends: frozenset[tuple[int, ...]], crash: str) -> None:
    crashed(_rig, scenario, _end(scenario, ends), crash)
