"""What the rules decide is a legal trace: every transcript of the rules, and random histories, journalled, replayed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from kedge.controller.model import events as e
from tests.journal.followed import FollowedWorld
from tests.rules.finding import Finding
from tests.rules.planting import Planting, read_line
from tests.rules.world import Ran
from tests.state.test_machine import Cluster

TRANSCRIPTS = sorted((Path(__file__).resolve().parents[1] / "rules" / "transcripts").glob("*.txt"))


class FollowedScript(Finding):
    """A transcript whose commands are followed by a trace. What is planted on the way begins another term."""

    def __init__(self) -> None:
        super().__init__()
        self.world: FollowedWorld = FollowedWorld()

    def _command(self, text: str) -> Iterator[str]:
        if hasattr(Planting, f"do_{read_line(text)[0]}"):
            self.world.is_planted = True
        else:
            self.world.take_over_if_planted()
        return super()._command(text)


@pytest.mark.slow
@pytest.mark.parametrize("file", TRANSCRIPTS, ids=[file.stem for file in TRANSCRIPTS])
def test_every_transcript_of_the_rules_is_a_legal_trace(file: Path) -> None:
    """What is recorded as right is legal, foreign writes, strays and Kafka's own moves included."""
    script = FollowedScript()
    script.play(file.read_text(encoding="utf-8"))
    assert script.world.rows > 2


class FollowedCluster(Cluster):
    """The random histories of `tests.state.test_machine`, followed by a trace."""

    def __init__(self) -> None:
        super().__init__()
        self.world: FollowedWorld = FollowedWorld()

    def run_event(self, event: e.Event) -> Ran:
        self.world.take_over_if_planted()
        return super().run_event(event)


TestFollowedCluster = FollowedCluster.TestCase
TestFollowedCluster.settings = settings(max_examples=15, stateful_step_count=30, deadline=None)
