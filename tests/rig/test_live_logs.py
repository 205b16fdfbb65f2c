from __future__ import annotations

from pathlib import Path

from tests.kit.transcripts import is_as_recorded
from tests.rig.logs import Script


def test_clients_of_live_logs_are_answered_as_recorded() -> None:
    is_as_recorded(Path(__file__).with_name("live_logs.txt"), Script().play)
