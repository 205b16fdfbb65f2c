"""Whatever goes wrong, the journals that the controllers of a seeded run write are legal traces, term after term."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from kedge.controller.audit import Trace
from kedge.controller.runtime.journal import FolderSink, Journal, Reading
from tests.verify.explore import run_seed

FAST = range(1, 9)
MANY = range(9, 69)
LONG = range(5_001, 5_004)


def _legal(folder: Path, seed: int, steps: int) -> Counter[str]:
    """Events of the run by number. Each node writes into the folder; each term has files of its own."""
    sinks: list[FolderSink] = []  # of a controller that was killed, it stays open

    def journal(_: int) -> Journal:
        sinks.append(FolderSink(folder))
        return Journal(sinks[-1])

    run = run_seed(seed, steps, journal)
    for sink in sinks:
        sink.close()
    assert run.error is None, run.error
    reading, trace, events = Reading([folder]), Trace(), Counter[str]()
    for row in reading:
        illegal = trace.feed(row)
        assert illegal is None, f"seed {seed}, {steps} steps: {reading.at}: {illegal}"
        events[row["event"]] += 1
    assert reading.findings == []
    assert not trace.unchecked
    return events


@pytest.mark.slow
@pytest.mark.checklist(103)
@pytest.mark.parametrize("seed", FAST)
def test_the_journal_of_a_broken_cluster_is_a_legal_trace(seed: int, tmp_path: Path) -> None:
    """Failovers, lost commits, conflicts and deaths leave rows that follow on each other by the rules."""
    events = _legal(tmp_path, seed, 300)
    assert events["Takeover"] >= 1
    assert events["TargetSet"] + events["TopicCreated"] > 2


@pytest.mark.full
def test_the_journals_of_many_broken_clusters_are_legal_traces(tmp_path: Path) -> None:
    """Over enough of them every way in which a move ends is there, and every row of a completion."""
    events = sum((_legal(tmp_path / str(seed), seed, 300) for seed in MANY), Counter[str]())
    for event in ("TargetReplaced", "TargetCleared", "ReplicasGrown", "IsrShrunk", "IntentDropped", "ForeignChange"):
        assert events[event] > 0, event


@pytest.mark.slow
@pytest.mark.parametrize("seed", LONG)
def test_the_journal_of_a_cluster_that_was_broken_for_long_is_a_legal_trace(seed: int, tmp_path: Path) -> None:
    """Many terms, each over what the ones before it left."""
    assert _legal(tmp_path, seed, 1_000)["Takeover"] > 1
