"""What a broken controller writes is no legal trace: the replay finds it in the journal alone."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress

import pytest

from kedge.controller.audit import Trace
from kedge.controller.rig import NotInTime, Rig
from kedge.controller.runtime.journal import Journal, MemorySink
from tests.simulation import test_mutants as mutants
from tests.simulation.clusters import orders

BROKEN: dict[Callable[[pytest.MonkeyPatch], None], tuple[str, str]] = {
    mutants.completes_early: ("ReplicasChanged", "completion"),
    mutants.forgets_intents: ("IsrShrunk", "owed intent"),
    mutants.keeps_the_leader_epoch: ("LeaderElected", "leader epoch"),
    mutants.deletes_what_stays: ("DeleteIntended", "intent"),
    mutants.shrinks_t: ("TargetReplaced", "leader epoch"),
}
SCENARIOS: dict[object, Callable[[Rig], None]] = {mutant: scenario for mutant, scenario, _ in mutants.MUTANTS}


@pytest.mark.full
@pytest.mark.parametrize("mutant", BROKEN, ids=lambda mutant: mutant.__name__)
def test_the_journal_of_a_broken_controller_is_illegal(
    mutant: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the invariants of the rig switched off, the first illegal row is the one that the defect wrote."""
    sink = MemorySink()
    rig = orders(copy_rate_bytes_s=1_000_000, check=False, journal=lambda _: Journal(sink))
    mutant(monkeypatch)
    with suppress(NotInTime):
        SCENARIOS[mutant](rig)
    trace = Trace()
    found = [illegal for line in sink.lines if (illegal := trace.feed(json.loads(line))) is not None]
    assert (found[0].event, found[0].rule) == BROKEN[mutant]
