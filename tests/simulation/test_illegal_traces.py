"""What a broken controller writes is no legal trace: the replay finds it in the journal alone."""

from __future__ import annotations

import json
from contextlib import suppress

import pytest

from kedge.controller.audit import Trace
from kedge.controller.rig import NotInTime
from kedge.controller.runtime.journal import Journal, MemorySink
from tests.simulation.clusters import orders
from tests.simulation.mutants_of_controllers import MUTANTS

BROKEN = {
    "completes early": ("ReplicasChanged", "completion"),
    "does not send removed replicas": ("IsrShrunk", "owed intent"),
    "keeps the leader epoch": ("LeaderElected", "leader epoch"),
    "deletes what stays": ("DeleteIntended", "intent"),
    "shrinks T": ("IsrChanged", "target"),
}


@pytest.mark.full
@pytest.mark.parametrize("name", BROKEN)
def test_the_journal_of_a_broken_controller_is_illegal(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the invariants of the rig switched off, the first illegal row is the one that the defect wrote."""
    sink, mutant = MemorySink(), MUTANTS[name]
    rig = orders(copy_rate_bytes_s=1_000_000, check=False, journal=lambda _: Journal(sink))
    mutant.breaks(monkeypatch)
    with suppress(NotInTime):
        mutant.scenario(rig)
    trace = Trace()
    found = [illegal for line in sink.lines if (illegal := trace.feed(json.loads(line))) is not None]
    assert (found[0].event, found[0].rule) == BROKEN[name]
