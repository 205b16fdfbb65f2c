"""The controller as transcripts: what each command leaves is just what stands below it (`tests.runtime.script`,
`tests.kit.transcripts`)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.kit.transcripts import is_as_recorded
from tests.runtime.elections import Elections
from tests.runtime.requests import Requests

FOLDER = Path(__file__).resolve().parent / "transcripts"


def holds(name: str, script: type[Requests] = Requests) -> None:
    """The answers, keys, findings and warnings of each command are those of the transcript."""
    is_as_recorded(FOLDER / f"{name}.txt", script().play)


@pytest.mark.checklist(1, 2, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 27, 28, 31, 32, 33, 34, 35, 227)
def test_throttled_reassignments_are_as_recorded() -> None:
    holds("reassigning")


@pytest.mark.checklist(45, 46, 47, 50, 51, 53, 55, 58, 231)
def test_throttles_by_themselves_are_as_recorded() -> None:
    holds("throttles")


@pytest.mark.checklist(43)
def test_throttles_that_a_takeover_finds_are_as_recorded() -> None:
    holds("throttles_taken_over")


@pytest.mark.slow
@pytest.mark.checklist(34, 35, 115, 116, 117, 118, 119, 120)
def test_plans_of_the_legacy_key_are_as_recorded() -> None:
    holds("legacy_key")


@pytest.mark.slow
@pytest.mark.checklist(161, 174)
def test_altered_configs_are_as_recorded() -> None:
    holds("configs")


def test_configs_that_others_write_are_as_recorded() -> None:
    holds("configs_watched")


def test_findings_and_hints_are_as_recorded() -> None:
    holds("findings")


def test_notifications_are_as_recorded() -> None:
    holds("notifications")


@pytest.mark.slow
@pytest.mark.checklist(112, 113)
def test_a_takeover_loads_what_is_recorded() -> None:
    holds("loading")


@pytest.mark.slow
def test_deletions_are_as_recorded() -> None:
    holds("deleting")


@pytest.mark.slow
@pytest.mark.checklist(257)
def test_keys_that_others_write_meanwhile_are_as_recorded() -> None:
    holds("conflicts")


@pytest.mark.slow
def test_leaders_and_takeovers_are_as_recorded() -> None:
    holds("leading")


@pytest.mark.slow
@pytest.mark.checklist(201, 219)
def test_reductions_are_as_recorded() -> None:
    holds("reducing")


@pytest.mark.slow
def test_what_a_resync_finds_is_as_recorded() -> None:
    holds("resyncs")


@pytest.mark.slow
def test_sends_and_late_answers_are_as_recorded() -> None:
    holds("sending")


@pytest.mark.slow
def test_elections_are_as_recorded() -> None:
    holds("elections", Elections)


@pytest.mark.checklist(255, 256)
def test_elections_beside_kafka_are_as_recorded() -> None:
    holds("beside_kafka", Elections)


def test_every_transcript_is_played() -> None:
    played = Path(__file__).read_text(encoding="utf-8")
    assert [file.stem for file in FOLDER.glob("*.txt") if f'holds("{file.stem}"' not in played] == []
