"""Products that are broken on purpose: each one must be caught, or the simulation proves nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import pytest

from kedge.controller.rig import InvariantBroken, NotInTime, Rig
from tests.simulation import mutants_of_controllers, mutants_of_quotas, mutants_of_reading, mutants_of_throttles
from tests.simulation.clusters import orders
from tests.simulation.mutant import Mutant

Make = Callable[[], Rig]
SLOW: Final[tuple[tuple[Make, Mapping[str, Mutant]], ...]] = (
    (mutants_of_controllers.controller, mutants_of_controllers.MUTANTS),
    (orders, mutants_of_reading.MUTANTS),
    (mutants_of_throttles.throttled, mutants_of_throttles.MUTANTS),
)
MUTANTS: Final = [
    *(
        pytest.param(make, mutant, id=name, marks=pytest.mark.slow)
        for make, mutants in SLOW
        for name, mutant in mutants.items()
    ),
    *(
        pytest.param(mutants_of_quotas.unchecked, mutant, id=name, marks=pytest.mark.full)
        for name, mutant in mutants_of_quotas.MUTANTS.items()
    ),
]
SCENARIOS: Final = [
    *dict.fromkeys((make, mutant.scenario) for make, mutants in SLOW for mutant in mutants.values()),
    *dict.fromkeys((mutants_of_quotas.quotas, mutant.scenario) for mutant in mutants_of_quotas.MUTANTS.values()),
]


@pytest.mark.parametrize("make,mutant", MUTANTS)
def test_a_broken_controller_is_caught(monkeypatch: pytest.MonkeyPatch, make: Make, mutant: Mutant) -> None:
    rig = make()
    mutant.breaks(monkeypatch)
    with pytest.raises((InvariantBroken, NotInTime), match=mutant.says):
        mutant.scenario(rig)


@pytest.mark.full
@pytest.mark.parametrize("make,scenario", SCENARIOS)
def test_the_same_scenario_passes_with_the_controller_as_it_is(make: Make, scenario: Callable[[Rig], None]) -> None:
    scenario(make())
