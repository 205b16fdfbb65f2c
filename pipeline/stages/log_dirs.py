"""The log directories of brokers: the bytes that each holds and may hold, and the capacity of a broker as their sum.

A directory may hold its whole volume. If other files take more than a tenth of the volume, it may hold only what its
replicas take and what is free; ext4 alone reserves a twentieth. Two directories on one volume count it twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from ..errors import BadInput
from ..tables.arrow import Arrow, conform
from ..tables.declared import BROKER, LOG_DIR

OTHERS_MAX: Final = 0.1
_CAPACITY: Final = "disk_capacity_bytes"

Row: TypeAlias = Mapping[str, Any]
"""Of the table `log_dir`."""


def with_sizes(log_dir: Arrow, replica_log: Arrow) -> Arrow:
    """The table `log_dir` with the bytes of the replicas in each directory, also of those that are being moved there.
    Raises BadInput if the bytes of a volume are negative."""
    rows = conform(LOG_DIR, log_dir, LOG_DIR.name)
    if any(pc.any(pc.less(rows.column(name), 0)).as_py() for name in ("total_bytes", "usable_bytes")):
        raise BadInput(f"table {LOG_DIR.name}: the bytes of a volume are negative")
    sums = replica_log.group_by(["broker_id", "log_dir"]).aggregate([("size_bytes", "sum")]).to_pylist()
    held = {(row["broker_id"], row["log_dir"]): row["size_bytes_sum"] for row in sums}
    keys = zip(rows.column("broker_id").to_pylist(), rows.column("log_dir").to_pylist(), strict=True)
    sizes = pa.array([held.get(key, 0) for key in keys], pa.int64())
    return rows.set_column(rows.schema.get_field_index("size_bytes"), LOG_DIR.names[-1], sizes)


def capacity_of(row: Row) -> int | None:
    """The bytes that a directory may hold, by its row of the table `log_dir`; None if its volume is unknown."""
    total: int | None = row["total_bytes"]
    return row["usable_bytes"] + held_in(row) if has_other_files(row) else total


def has_other_files(row: Row) -> bool:
    """Whether other files than replicas are known to take more than a tenth of the volume."""
    total, usable = row["total_bytes"], row["usable_bytes"]
    return None not in {total, usable} and total - usable - held_in(row) > OTHERS_MAX * total


def held_in(row: Row) -> int:
    return row["size_bytes"] or 0


def capacities(rows: Iterable[Row]) -> dict[int, int]:
    """By broker, of those that report the volumes of all their directories."""
    found: dict[int, list[int | None]] = {}
    for row in rows:
        found.setdefault(row["broker_id"], []).append(capacity_of(row))
    return {broker: sum(filter(None, known)) for broker, known in found.items() if None not in known}


def with_reported(broker: Arrow, log_dir: Arrow) -> Arrow:
    """The brokers, with the capacities that they report where no other is known."""
    known = capacities(log_dir.to_pylist())
    pairs = zip(broker.column("broker_id").to_pylist(), broker.column(_CAPACITY).to_pylist(), strict=True)
    column = pa.array([known.get(b) if capacity is None else capacity for b, capacity in pairs], pa.int64())
    return conform(BROKER, broker.set_column(broker.schema.get_field_index(_CAPACITY), _CAPACITY, column), "broker")
