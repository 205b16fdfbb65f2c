"""The page of a plan, of the tables that lie in a snapshot's place."""

from __future__ import annotations

from collections.abc import Mapping

from pipeline.report.plan import plan_page
from pipeline.stages.outlook import outlook
from pipeline.stages.waves import REFUSED
from pipeline.tables.arrow import Arrow
from pipeline.tables.declared import BROKER, PARTITION, PLAN_LOAD, PLAN_REASON, QUARANTINE, REPLICA_LOAD
from pipeline.tables.files import Place


def page_of(place: Place, found: Mapping[str, Arrow], name: str) -> str:
    """`found`: the tables of the plan `name` that are there already."""
    given = {table.name: place.read(table) for table in (BROKER, PARTITION, REPLICA_LOAD) if table.name not in found}
    if place.has(QUARANTINE):
        given[QUARANTINE.name] = place.read(QUARANTINE)
    if PLAN_LOAD.name not in found:
        given[PLAN_LOAD.name] = place.read(PLAN_LOAD, name)
    if place.has(PLAN_REASON, f"{name}.{REFUSED}"):
        given[REFUSED] = place.read(PLAN_REASON, f"{name}.{REFUSED}")
    given |= found
    return plan_page({**given, **outlook(given)}, cluster=place.cluster, snapshot=place.snapshot)
