"""Cruise Control's capacity files: `capacity.json`, `capacityJBOD.json`, `capacityCores.json`.

`DISK` is in MiB (one number, or one per folder), `NW_IN` and `NW_OUT` in KiB/s, all as strings. Broker id -1 is the
default. It holds where no other source, and no free disk space, says a capacity
(`kedge.pipeline.stages.arrays.defaulted`).
"""

from __future__ import annotations

from typing import Any, Final

from .gathered import INT_MAX, BadRow, Gathered, amount, an_object, document, each, of_kind, whole

_MIB: Final = 1024 * 1024
_KIB: Final = 1024
_EVERY: Final = "-1"


def from_capacities(data: bytes, source: str, into: Gathered) -> None:
    """Add the capacities of brokers, and the default."""
    named: set[int] = set()

    def entry(_: str, row: Any) -> None:
        found = _capacity(an_object(an_object(row, "entry").get("capacity"), "capacity"))
        if str(row.get("brokerId")) == _EVERY:
            if into.default:
                raise BadRow(f"brokerId {_EVERY} occurs twice")
            into.default = found
            return
        broker_id = whole(row.get("brokerId"), "brokerId", INT_MAX)
        if broker_id in named:
            raise BadRow(f"brokerId {broker_id} occurs twice")
        named.add(broker_id)
        into.broker(broker_id, **found)

    rows = document(data, source, "brokerCapacities", list)
    each(into.rejects, source, of_kind(rows, source, "a broker with its capacity", _is_entry), entry)


def _is_entry(_: str, row: Any) -> bool:
    return isinstance(row, dict) and "brokerId" in row


def _capacity(row: dict[str, Any]) -> dict[str, Any]:
    disk = row.get("DISK")
    mib = sum(amount(part, "DISK") for part in disk.values()) if isinstance(disk, dict) else amount(disk, "DISK")
    return {
        "disk_capacity_bytes": int(mib * _MIB),
        "nw_in_capacity_bps": amount(row.get("NW_IN"), "NW_IN") * _KIB,
        "nw_out_capacity_bps": amount(row.get("NW_OUT"), "NW_OUT") * _KIB,
    }
