"""Seeded runs with all kinds of work and trouble: what is counted as rows change is what counting all rows gives."""

from __future__ import annotations

import pytest

from kedge.controller.host import Controller
from kedge.controller.rig import Rig
from kedge.controller.state.tally import Tally
from tests.verify.explore import break_things, build, heal


def controllers(rig: Rig) -> list[Controller]:
    return [node.controller for node in rig.nodes.values() if node.controller is not None]


def recounted(rig: Rig) -> int:
    """Every term's state and what it leaves to be seen, held against all its rows; how many terms there were."""
    terms = [c._loop.term for c in controllers(rig)]  # noqa: SLF001 - a test looks inside
    for term in terms:
        if term is None:
            continue
        found = Tally.of(term.state.rows).as_dict()
        assert term.state.tally is not None
        assert term.state.tally.as_dict() == found
        if term.ready is None and term.counts.tally is not None:
            assert term.counts.tally.as_dict() == found
    return sum(term is not None for term in terms)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [3, 5, 8, 69])
def test_the_counts_are_those_of_all_rows_at_every_step(seed: int) -> None:
    """Conflicts, lost replies, takeovers and zombies among them; a commit in flight is not published."""
    world = build(seed)
    step, held = world.rig.step, 0

    def held_step() -> bool:
        nonlocal held
        moved = step()
        held += recounted(world.rig)
        return moved

    world.rig.step = held_step  # type: ignore[method-assign]
    break_things(world, 200)
    heal(world)
    assert held > 100
