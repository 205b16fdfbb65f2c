"""The brokers of a plan: those of its snapshot and those that it adds, with racks that only its request has, and with
the default of capacities."""

from __future__ import annotations

from collections.abc import Mapping

from ..errors import BadInput
from ..tables.arrow import Arrow, from_rows
from ..tables.declared import ALIVE, BROKER
from .arrays import defaulted
from .requests import KINDS, Add, Request, settings_of


def with_added(tables: Mapping[str, Arrow], request: Request) -> Arrow:
    """Of a plan to make. Raises BadInput if the request contradicts the snapshot."""
    added = dict(request.brokers) if isinstance(request, Add) else {}
    for row in tables["broker"].to_pylist() if added else ():
        rack = added.get(row["broker_id"])
        if rack is not None and row["rack"] not in {None, rack}:
            raise BadInput(f"add: broker {row['broker_id']} has rack {row['rack']} in the snapshot, not {rack}")
    return _together(tables, added)


def with_planned(tables: Mapping[str, Arrow]) -> Arrow:
    """Of the plan in `tables`."""
    (said,) = tables["plan"].to_pylist()
    return _together(tables, dict(settings_of(said)["brokers"]) if said["kind"] == KINDS[Add] else {})


def _together(tables: Mapping[str, Arrow], added: Mapping[int, str | None]) -> Arrow:
    broker = tables["broker"]
    if added:
        rows = [{**row, "rack": row["rack"] or added.get(row["broker_id"])} for row in broker.to_pylist()]
        blank = dict.fromkeys(BROKER.names) | {"state": ALIVE}
        there = {row["broker_id"] for row in rows}
        rows += [{**blank, "broker_id": new, "rack": rack} for new, rack in added.items() if new not in there]
        broker = from_rows(BROKER, [[row[column] for column in BROKER.names] for row in rows])
    return defaulted(broker, tables.get("broker_default"))
