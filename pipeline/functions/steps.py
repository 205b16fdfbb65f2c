"""The stages of planning as steps from the tables of a snapshot to more tables of it, for both engines."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import partial
from typing import Final, TypeAlias

import attrs

from ..arguments import whole
from ..errors import BadInput, NothingAsked
from ..stages.arrays import Limits
from ..stages.check import check
from ..stages.choice import Choice
from ..stages.load import load
from ..stages.plan import plan
from ..stages.requests import ReducePartitions, Request
from ..stages.usable import LoadSettings
from ..stages.validate import validate
from ..stages.waves import WaveSettings, waves
from ..tables.arrow import Arrow, conform
from ..tables.declared import (
    BROKER,
    BROKER_LOAD,
    LOG_DIR,
    OF_PLAN,
    OF_WAVES,
    PARTITION,
    PLAN_LOG_DIR,
    RACK_LOAD,
    REDUCTION,
    REJECTED_ROWS,
    REPLICA_LOAD,
    REPLICA_SAMPLE,
    TABLES,
    VIOLATION,
)
from ..tables.files import check_name
from ..tables.schema import Table
from ..tables.whole import tables_of

Tables: TypeAlias = dict[str, Arrow]
_COLLECTED: Final[Mapping[Table, str]] = dict.fromkeys((BROKER, PARTITION), "has to be given")
_LOADED: Final = {**_COLLECTED, REPLICA_LOAD: "compute_load adds"}


@attrs.frozen
class Step:
    """`run`: from the tables of a snapshot to those that it adds or replaces. `makes`: these tables, at most. `needs`:
    the tables without which it cannot run, and the function that adds them. `reduces`: how it reduces the samples of
    replicas, which `run` takes as a table, as a function that reads them, or reduced."""

    run: Callable[[Tables], Tables]
    makes: Sequence[Table]
    needs: Mapping[Table, str] = attrs.field(factory=lambda: _COLLECTED)
    reduces: LoadSettings | None = None

    def __call__(self, tables: Tables) -> Tables:
        """Raises PipelineError if the snapshot cannot be used."""
        self._check_needs(tables.keys())
        checked = {
            name: conform(TABLES[name], table, name)
            for name, table in tables.items()
            if name in TABLES and name != REPLICA_SAMPLE.name  # which may be large, and is checked in batches
        }
        return self.run({**tables, **checked})

    def check(self, names: AbstractSet[str]) -> None:
        """Raises BadInput if a table is missing, or is none of the pipeline's."""
        tables_of(names)
        self._check_needs(names)

    def _check_needs(self, names: AbstractSet[str]) -> None:
        missing = {table.name: adds for table, adds in self.needs.items() if table.name not in names}
        if missing:
            raise BadInput("; ".join(f"no table {name}, which {adds}" for name, adds in missing.items()))


def validation() -> Step:
    return Step(validate, (REJECTED_ROWS,))


def loading(settings: LoadSettings) -> Step:
    makes = (BROKER, REPLICA_LOAD, BROKER_LOAD, RACK_LOAD, LOG_DIR, REJECTED_ROWS)
    return Step(partial(load, settings=settings), makes, reduces=settings)


def checking(limits: Limits, factor: int | None, *, ignore_racks: bool) -> Step:
    if factor is not None and whole(factor, "factor") < 1:
        raise BadInput(f"factor: expected 1 or more, got {factor}")

    def run(tables: Tables) -> Tables:
        return {VIOLATION.name: check(tables, limits=limits, factor=factor, ignore_racks=ignore_racks)}

    return Step(run, (VIOLATION,))


def planning(request: Request, name: str, limits: Limits, choice: Choice, *, ignore_racks: bool) -> Step:
    """It adds no table where the request is empty for the snapshot, such as a drain where no broker is draining."""
    check_name(name, "name")

    def run(tables: Tables) -> Tables:
        try:
            return plan(tables, request, name=name, limits=limits, choice=choice, ignore_racks=ignore_racks)
        except NothingAsked:
            return {}

    return Step(run, (*OF_PLAN, REDUCTION if isinstance(request, ReducePartitions) else PLAN_LOG_DIR), _LOADED)


def dividing(settings: WaveSettings) -> Step:
    """It adds no table where there is no plan."""

    def run(tables: Tables) -> Tables:
        if "plan" not in tables or not tables["plan"].num_rows:
            return {}
        return waves(tables, tables["plan"]["plan"][0].as_py(), settings)

    return Step(run, OF_WAVES, _LOADED)
