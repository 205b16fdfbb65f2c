"""What the journal does not say: sizes, rates, disks, from tables of the pipeline.

A folder with `replica_log`, `partition` and `broker`, each a folder or a file of Parquet, with the columns that
`spec/pipeline.md` gives them; any of them may be missing, and of each only the columns here are read. A table that
cannot be read, or lacks a column, is refused; a row with a null key is quarantined.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import attrs

from pipeline.audit.values import Quarantined

Key = tuple[str, int]

_COLUMNS: Final[Mapping[str, tuple[str, ...]]] = {
    "replica_log": ("broker_id", "topic", "partition", "size_bytes"),
    "partition": ("topic", "partition", "write_bps"),
    "broker": ("broker_id", "disk_capacity_bytes"),
}
_MAY_BE_NULL: Final = ("write_bps", "disk_capacity_bytes")


class BadSamples(ValueError):
    """A table cannot be used; the message names it."""


@attrs.frozen
class Samples:
    """`size_bytes`: of each replica, by partition and broker. `write_bps`: by partition, bytes/s. `disk_bytes`:
    capacity by broker; `used_bytes`: the sum of its replicas."""

    size_bytes: Mapping[Key, Mapping[int, int]] = attrs.field(factory=dict)
    write_bps: Mapping[Key, float] = attrs.field(factory=dict)
    disk_bytes: Mapping[int, int] = attrs.field(factory=dict)
    used_bytes: Mapping[int, int] = attrs.field(factory=dict)
    quarantine: tuple[Quarantined, ...] = ()


def read_samples(folder: Path) -> Samples:
    """The tables of a folder. Raises BadSamples where there is none of them, or one cannot be read."""
    quarantine: list[Quarantined] = []
    tables = {name: _rows(folder, name, quarantine) for name in _COLUMNS}
    if all(rows is None for rows in tables.values()):
        raise BadSamples(f"{folder}: none of {', '.join(_COLUMNS)} is there")
    sizes: dict[Key, dict[int, int]] = {}
    used: dict[int, int] = {}
    for row in tables["replica_log"] or ():
        broker, size = row["broker_id"], row["size_bytes"]
        sizes.setdefault((row["topic"], row["partition"]), {})[broker] = size
        used[broker] = used.get(broker, 0) + size
    rates = {(row["topic"], row["partition"]): row["write_bps"] for row in tables["partition"] or ()}
    disks = {row["broker_id"]: row["disk_capacity_bytes"] for row in tables["broker"] or ()}
    return Samples(
        sizes,
        {key: rate for key, rate in rates.items() if rate is not None},
        {broker: size for broker, size in disks.items() if size is not None},
        used,
        tuple(quarantine),
    )


def _rows(folder: Path, name: str, quarantine: list[Quarantined]) -> list[dict[str, Any]] | None:
    found = next((path for path in (folder / name, folder / f"{name}.parquet") if path.exists()), None)
    if found is None:
        return None
    import pyarrow as pa  # noqa: PLC0415 - a journal alone is read without it
    import pyarrow.dataset as ds  # noqa: PLC0415

    columns = _COLUMNS[name]
    try:
        table = ds.dataset(found, format="parquet").to_table(columns=list(columns))
    except (pa.ArrowException, OSError, ValueError, KeyError) as error:
        raise BadSamples(f"{found}: {' '.join(str(error).split())[:300]}") from error
    kept = []
    for number, row in enumerate(table.to_pylist(), 1):
        missing = [column for column in columns if row[column] is None and column not in _MAY_BE_NULL]
        if missing:
            quarantine.append(Quarantined(str(found), number, str(row)[:1000], f"no {', '.join(missing)}"))
        else:
            kept.append(row)
    return kept
