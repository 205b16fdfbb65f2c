"""The tables of a snapshot, read and written together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import Final

import pyarrow.compute as pc

from ..errors import BadInput
from .arrow import Arrow
from .declared import (
    BROKER,
    BROKER_DEFAULT,
    BROKER_LOAD,
    BROKER_VALID,
    LOG_DIR_VALID,
    MEASURES,
    OF_PLAN,
    OF_WAVES,
    PARTITION,
    PARTITION_VALID,
    PLAN,
    PLAN_LOG_DIR,
    RACK_LOAD,
    REDUCTION,
    REJECTED_ROWS,
    REPLICA_LOAD,
    REPLICA_SAMPLE,
    SNAPSHOT_TIME,
    TABLES,
    VALID,
)
from .files import Place
from .rejects import has_rows_of_tables
from .schema import Table

COLLECTED: Final = (BROKER, PARTITION, BROKER_DEFAULT, *MEASURES, REPLICA_SAMPLE)
COLLECTED_NAMES: Final = tuple(table.name for table in COLLECTED)
PLAN_NAMES: Final = tuple(
    table.name
    for table in (*VALID, REPLICA_LOAD, BROKER_DEFAULT, REJECTED_ROWS, *OF_PLAN, PLAN_LOG_DIR, REDUCTION, *OF_WAVES)
)
"""What an export of a plan needs."""
_ORDER: Final = {table: at for at, table in enumerate((PARTITION, *OF_PLAN[1:], REDUCTION, PLAN, *OF_WAVES))}
"""A table by which others find a snapshot or a plan is written after the other tables of it."""
_OF_COLLECTED: Final = (PARTITION_VALID, PARTITION, BROKER_VALID, LOG_DIR_VALID, REPLICA_LOAD, BROKER_LOAD, RACK_LOAD)
"""How a snapshot is found, and what was made of its collected rows."""


def tables_of(names: Iterable[str]) -> list[Table]:
    """Raises BadInput for a name that is none."""
    given = list(names)
    if unknown := sorted(map(str, set(given) - TABLES.keys())):
        raise BadInput(f"unknown tables {', '.join(unknown)}; there are {', '.join(sorted(TABLES))}")
    return [TABLES[name] for name in given]


def names_for(plan: str | None) -> Sequence[str]:
    """What is read by default: the tables that were collected, or those of a plan."""
    return COLLECTED_NAMES if plan is None else PLAN_NAMES


def found_by(plan: str | None) -> Table:
    """The table by which a snapshot is found: one with plans may have validated rows alone."""
    return PARTITION if plan is None else PARTITION_VALID


def read_tables(place: Place, names: Iterable[str], plan: str | None = None) -> dict[str, Arrow]:
    """The tables of these names that are there, those of plans for `plan`; validated rows as broker and partition."""
    parts = [
        (table, {"part": plan} if plan is not None and PLAN.name in table.names else {}) for table in tables_of(names)
    ]
    return {table.key: place.read(table, **part) for table, part in parts if place.has(table, **part)}


def write_tables(place: Place, tables: Mapping[str, Arrow]) -> None:
    """The place has these tables. Validated rows, which are those with loads or with rejected rows of tables, are kept
    in tables of their own, and what was collected stays as it is; what is collected again leaves no validated rows and
    no loads. Raises as `Place.write`, before anything is removed where another program wrote one of them."""
    is_valid = "replica_load" in tables or has_rows_of_tables(tables.get("rejected_rows"))
    plans = tables["plan"]["plan"].to_pylist() if "plan" in tables else []
    ordered = sorted(tables_of(tables), key=lambda table: _ORDER.get(table, -1))
    kept = {table: to for table in ordered if (to := _kept_as(table, is_valid=is_valid)) is not None}
    for to in kept.values():
        place.check_replaceable(to)
    former = () if PARTITION.name not in tables else (PARTITION_VALID,) if is_valid else _OF_COLLECTED
    for table in former:
        place.remove(table)
    for plan, table in product(plans, (PLAN, *OF_WAVES[::-1], REDUCTION, PLAN_LOG_DIR)):
        place.remove(table, plan)
    for table in ordered:
        rows = tables[table.name]
        if table in kept:
            place.write(kept[table], rows)
        elif PLAN.name in table.names:
            for plan in plans:
                place.write(table, rows.filter(pc.equal(rows["plan"], plan)), plan)


def _kept_as(table: Table, *, is_valid: bool) -> Table | None:
    """The table in which rows of a snapshot are kept; None: collected rows beside validated ones, which stay."""
    if PLAN.name in table.names:
        return None
    if is_valid and table.valid() in VALID:
        return table.valid()
    return table if not is_valid or table is SNAPSHOT_TIME or table not in COLLECTED else None
