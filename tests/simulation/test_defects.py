"""Each rule, record and kind of key fails once, at a moment of its own: the term ends, and the next one repairs all."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from kedge.controller.keys.base import KeyKind
from kedge.controller.keys.table import KINDS
from kedge.controller.machine import DUE, RULES
from kedge.controller.model.records import Record
from kedge.controller.rig.node import Node
from kedge.controller.runtime.ready import RuleFailed
from tests.simulation.clusters import ORDERS, leading, orders, settle
from tests.verify.explore import break_things, build, heal

SEEDS = range(1, 31)
OF_KINDS = ("load", "look", "reread", "op", "content", "committed")


class Planted(Exception):
    """A defect of Kedge's own."""


class Defects:
    """Makes functions fail once each, after up to one call that goes well. `failed`: the names of those that did."""

    def __init__(self, only: str = "") -> None:
        self._only = only
        self.failed: set[str] = set()
        self.names: set[str] = set()

    def plant(self, seed: int, patch: pytest.MonkeyPatch) -> None:
        """In all that have not failed yet."""
        self._chance, self._patch = random.Random(seed), patch
        for event, rule in RULES.items():
            self._patch.setitem(RULES, event, self._failing(event.__name__, rule))
        for reason, look in DUE.items():
            self._patch.setitem(DUE, reason, self._failing(str(reason), look))
        for record in Record.__subclasses__():
            self._patch.setattr(record, "apply", self._failing(record.__name__, record.apply))
        for kind in KINDS:
            for name in OF_KINDS:
                if getattr(kind, name) is not getattr(KeyKind, name):
                    self._patch.setattr(kind, name, self._failing(f"{kind.__name__}.{name}", getattr(kind, name)))

    def _failing(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        self.names.add(name)
        if name in self.failed or self._only not in {"", name}:
            return function
        left = self._chance.randrange(2)

        def fails(*arguments: Any, **more: Any) -> Any:
            nonlocal left
            left -= 1
            if left == -1:
                self.failed.add(name)
                raise Planted(name)
            return function(*arguments, **more)

        return fails


@pytest.fixture
def polls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Hosts go on polling after a defect was raised; what was raised."""
    raised: list[str] = []
    poll = Node.poll

    def going_on(node: Node) -> bool:
        try:
            return poll(node)
        except (Planted, RuleFailed) as error:
            raised.append(str(error))
            return True

    monkeypatch.setattr(Node, "poll", going_on)
    return raised


def test_a_rule_that_fails_on_a_death_loses_no_death(monkeypatch: pytest.MonkeyPatch, polls: list[str]) -> None:
    """The controller that failed says so, and does not lead on with a dead leader."""
    rig = orders()
    node = leading(rig)
    defects = Defects("replica died")
    defects.plant(2, monkeypatch)
    rig.mishaps.kill_broker(1)
    rig.until(lambda: polls, what="the rule fails")
    settle(rig)
    assert rig.partition(ORDERS).leader == 2
    assert polls == ["PartitionDue: Planted('replica died')"]
    assert node.controller is not None
    assert node.controller.describe().findings["defect"] == f"RuleFailed: {polls[0]}"


@pytest.mark.full
def test_after_a_defect_the_next_term_has_lost_nothing(monkeypatch: pytest.MonkeyPatch, polls: list[str]) -> None:
    """Every defect is raised, and everything that could fail has failed under some seed."""
    defects = Defects()
    for seed in SEEDS:
        before = len(defects.failed)
        with monkeypatch.context() as patch:
            world = build(seed)
            world.throttles = random.Random(seed)
            defects.plant(seed, patch)
            polls.clear()
            break_things(world, 300)
            heal(world)
            assert len(polls) == len(defects.failed) - before
    assert len(defects.failed) > 0.8 * len(defects.names), sorted(defects.names - defects.failed)
