"""Crashes and lost replies at every commit of a story: it runs once to count its commits, then once per commit and
kind of trouble, and ends the same each time."""

from __future__ import annotations

from typing import Final

import pytest

from tests.simulation import reduction_scenarios, throttle_scenarios
from tests.simulation.enumeration import BATCHES, CRASHES, LOSSES, Story, crashed, lost
from tests.simulation.move_stories import MOVES
from tests.simulation.stories import DAYS, DELETIONS, LEADERS

REDUCTIONS: Final = reduction_scenarios.STORIES
SHORT: Final = {**MOVES, **DAYS, **LEADERS, **DELETIONS}
STORIES: Final = {**SHORT, **REDUCTIONS, **throttle_scenarios.STORIES}


MARKED: Final = [
    pytest.param(story, id=name, marks=pytest.mark.slow if name in SHORT else pytest.mark.full)
    for name, story in STORIES.items()
]


@pytest.mark.checklist(36, 37, 38, 39, 40, 42, 56, 122, 214)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("story", MARKED)
def test_no_lost_commit_changes_how_it_ends(story: Story, loss: str) -> None:
    """Nothing is left half done: no move, deletion or reduction, and no throttle."""
    lost(story, loss, BATCHES if story in REDUCTIONS.values() else BATCHES[:1])


@pytest.mark.checklist(36, 37, 38, 39, 40, 41, 42, 43, 56, 112, 113, 122, 214, 215)
@pytest.mark.full
@pytest.mark.parametrize("crash", CRASHES)
@pytest.mark.parametrize("story", STORIES.values(), ids=STORIES)
def test_no_crash_changes_how_it_ends(story: Story, crash: str) -> None:
    """The next controller goes on: the client repeats its request, and the keys are read again."""
    crashed(story, crash)
