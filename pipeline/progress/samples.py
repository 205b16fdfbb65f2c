"""Sizes, rates and disks, which the journal does not have, from tables of the pipeline.

* A folder with `replica_log`, `partition`, `broker` and `replica_load`, each a folder or a file of Parquet, of which
  only the columns here are read; any of them may be missing. Or the folder of tables that `kedge plan collect` writes:
  then one snapshot of it, since sums over several would be meaningless.
* The rate of a partition comes from `partition`, else from `replica_load`, if it was measured.
* A future replica uses disk and is not the replica yet. A size without a broker is that of every replica.
* A table that cannot be read, or lacks a column, is refused; a row with a null key is rejected.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import attrs

from ..audit.values import RejectedRow
from ..errors import PipelineError
from ..extras import need

Key = tuple[str, int]

_COLUMNS: Final[Mapping[str, tuple[str, ...]]] = {
    "replica_log": ("broker_id", "topic", "partition", "size_bytes"),
    "partition": ("topic", "partition", "write_bps"),
    "broker": ("broker_id", "disk_capacity_bytes"),
    "replica_load": ("topic", "partition", "write_bps", "basis"),
}
_FUTURE: Final = "is_future"
_GUESSED: Final = "size_only"  # the basis of a rate that was not measured
_MAY_BE_NULL: Final = frozenset(
    {
        ("partition", "write_bps"),
        ("broker", "disk_capacity_bytes"),
        ("replica_log", "broker_id"),
        ("replica_load", "write_bps"),
    }
)


class BadSamples(ValueError):
    """A table cannot be used; the message names it."""


@attrs.frozen
class Samples:
    """`size_bytes`: of each replica, by partition and broker; `any_bytes`: of the partition, on any broker.
    `write_bps`: by partition, bytes/s. `disk_bytes`: capacity by broker; `used_bytes`: the sum of its replicas."""

    size_bytes: Mapping[Key, Mapping[int, int]] = attrs.field(factory=dict)
    any_bytes: Mapping[Key, int] = attrs.field(factory=dict)
    write_bps: Mapping[Key, float] = attrs.field(factory=dict)
    disk_bytes: Mapping[int, int] = attrs.field(factory=dict)
    used_bytes: Mapping[int, int] = attrs.field(factory=dict)
    rejected_rows: tuple[RejectedRow, ...] = ()


def read_samples(folder: Path, cluster: str | None = None, snapshot: str | None = None) -> Samples:
    """The tables of a folder. Of a folder of snapshots: those of `cluster`, which may be omitted if there is only one,
    and of `snapshot`, by default the newest. Raises BadSamples if there is no table, or one cannot be read."""
    rejected: list[RejectedRow] = []
    paths = _paths(folder, cluster, snapshot)
    if not paths:
        raise BadSamples(f"{folder}: none of the tables {', '.join(_COLUMNS)}")
    tables = {name: _rows(path, name, rejected) for name, path in paths.items()}
    sizes: dict[Key, dict[int, int]] = {}
    anywhere: dict[Key, int] = {}
    used: dict[int, int] = {}
    for row in tables.get("replica_log", ()):
        key, broker, size = (row["topic"], row["partition"]), row["broker_id"], row["size_bytes"]
        if broker is None:
            anywhere[key] = size
            continue
        used[broker] = used.get(broker, 0) + size
        if not row.get(_FUTURE):
            sizes.setdefault(key, {})[broker] = size
    measured = [row for row in tables.get("replica_load", ()) if row["basis"] != _GUESSED]
    rates = {
        (row["topic"], row["partition"]): row["write_bps"]
        for row in (*measured, *tables.get("partition", ()))
        if row["write_bps"] is not None
    }
    disks = {row["broker_id"]: row["disk_capacity_bytes"] for row in tables.get("broker", ())}
    return Samples(
        sizes,
        anywhere,
        rates,
        {broker: size for broker, size in disks.items() if size is not None},
        used,
        tuple(rejected),
    )


def _paths(folder: Path, cluster: str | None, snapshot: str | None) -> dict[str, Path]:
    """The paths of the existing tables."""
    if any(folder.glob("partition/cluster=*")):
        from ..tables.declared import PARTITION, TABLES  # noqa: PLC0415 - with pyarrow, as below
        from ..tables.files import find_place  # noqa: PLC0415

        try:
            place = find_place(folder, PARTITION, cluster, snapshot)
        except PipelineError as error:
            raise BadSamples(str(error)) from None
        files = {name: place.path(TABLES[name]) for name in _COLUMNS if place.has(TABLES[name])}
        return {name: file if file.exists() else file.parent for name, file in files.items()}  # of another program
    if cluster is not None or snapshot is not None:
        raise BadSamples(f"{folder}: the tables have no clusters and snapshots to choose from")
    each = {name: (folder / name, folder / f"{name}.parquet") for name in _COLUMNS}
    found = {name: next((path for path in paths if path.exists()), None) for name, paths in each.items()}
    return {name: path for name, path in found.items() if path is not None}


def _rows(path: Path, name: str, rejected: list[RejectedRow]) -> list[dict[str, Any]]:
    need()
    import pyarrow as pa  # noqa: PLC0415 - a journal alone is read without it
    import pyarrow.dataset as ds  # noqa: PLC0415

    columns = _COLUMNS[name]
    try:
        there = ds.dataset(path, format="parquet")
        more = [_FUTURE] if name == "replica_log" and _FUTURE in there.schema.names else []
        table = there.to_table(columns=[*columns, *more])
    except (pa.ArrowException, OSError, ValueError, KeyError) as error:
        raise BadSamples(f"{path}: {' '.join(str(error).split())[:300]}") from error
    kept = []
    for number, row in enumerate(table.to_pylist(), 1):
        missing = [column for column in columns if row[column] is None and (name, column) not in _MAY_BE_NULL]
        if missing:
            rejected.append(RejectedRow(str(path), number, str(row)[:1000], f"no {', '.join(missing)}"))
        else:
            kept.append(row)
    return kept
