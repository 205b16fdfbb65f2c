"""Moves of `orders-0`, at whose every commit something may go wrong; and where each ends."""

from __future__ import annotations

from typing import Final

from kedge.controller.model.values import Settings, TopicPartition
from kedge.controller.rig import Rig
from kedge.controller.rig.outside import submit_by_key
from tests.simulation.clusters import AFTER, BEFORE, ORDERS, asked, leading, orders, settle
from tests.simulation.enumeration import Scenario, Story, until_so

CLICKS: Final = TopicPartition("clicks", 0)


def small(settings: Settings) -> Rig:
    """`orders` with few records, and `clicks` beside it."""
    rig = orders(records=50, settings=settings)
    rig.create_topic("clicks", replicas=[[1, 2]])
    return rig


def healed(check: Scenario) -> Scenario:
    """`check` holds once all is mended."""

    def end(rig: Rig) -> None:
        rig.mishaps.heal()
        settle(rig)
        check(rig)

    return end


# --- moves


def ask(rig: Rig, target: tuple[int, ...] | None) -> None:
    """Repeat the request until the move to `target` runs or has ended; None: until nothing moves."""

    def is_so() -> bool:
        partition = rig.partition(ORDERS)
        return target in {partition.target_replicas, partition.replicas if partition.move is None else ()}

    until_so(rig, is_so, lambda: asked(leading(rig), target))


def _asks(target: tuple[int, ...]) -> Scenario:
    return lambda rig: ask(rig, target)


def _stopped_half_way(then: tuple[int, ...] | None) -> Scenario:
    """A move of which 6 does not copy; then another request."""

    def scenario(rig: Rig) -> None:
        rig.mishaps.pause_broker(6)
        ask(rig, AFTER)
        rig.run(100)
        ask(rig, then)
        rig.run(200)
        rig.mishaps.resume_broker(6)

    return scenario


def broker_returns_with_an_open_intent(rig: Rig) -> None:
    rig.mishaps.kill_broker(3)
    ask(rig, (1, 2))
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
    ask(rig, BEFORE)
    rig.mishaps.resume_broker(5)


def _legacy_then(target: tuple[int, ...] | None) -> Scenario:
    """A request comes while the move of an entry runs."""

    def scenario(rig: Rig) -> None:
        rig.mishaps.pause_broker(6)
        submit_by_key(rig, {ORDERS: AFTER, CLICKS: (4, 5)})
        rig.until(lambda: rig.partition(ORDERS).target_replicas == AFTER, what="the move runs")
        ask(rig, target)
        rig.mishaps.resume_broker(6)

    return scenario


def _at(*replicas: tuple[int, ...], clicks: tuple[int, ...] = (1, 2)) -> Scenario:
    """`orders-0` has one of these lists of replicas."""

    def check(rig: Rig) -> None:
        assert rig.partition(ORDERS).replicas in replicas
        assert rig.partition(CLICKS).replicas == clicks

    return healed(check)


CANCELLED: Final = ((*BEFORE, 4, 5), (*BEFORE, 5, 4), (*BEFORE, 4), (*BEFORE, 5), BEFORE)
_BY_KEY: Final = (4, 5)
MOVES: Final = {
    "move": Story(small, _asks(AFTER), _at(AFTER)),
    "override": Story(small, _stopped_half_way((1, 2, 5)), _at((1, 2, 5))),
    "cancel": Story(small, _stopped_half_way(None), _at(*CANCELLED)),
    "shrink": Story(small, _asks((2,)), _at((2,))),
    "grow": Story(small, _asks((1, 2, 3, 4)), _at((1, 2, 3, 4))),
    "reorder": Story(small, _asks((3, 1, 2)), _at((3, 1, 2))),
    "open intent": Story(small, broker_returns_with_an_open_intent, _at((1, 2))),
    "legacy": Story(small, legacy_submit, _at(AFTER, clicks=_BY_KEY)),
    "legacy, removal": Story(small, legacy_removal, _at((3, 1, 2), clicks=_BY_KEY)),
    "legacy, again": Story(small, legacy_done_and_requested_again, _at(BEFORE, clicks=_BY_KEY)),
    "legacy, overridden": Story(small, _legacy_then((1, 2, 5)), _at((1, 2, 5), clicks=_BY_KEY)),
    "legacy, cancelled": Story(small, _legacy_then(None), _at(*CANCELLED, clicks=_BY_KEY)),
}
