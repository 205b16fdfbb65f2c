"""Tables of results as Parquet: one folder per table with one file in it, and the schema of `tables`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from ..audit.values import Audit, Gap, RejectedRow, Violation
from ..progress.values import Progress
from ..tables.arrow import from_rows
from ..tables.declared import REJECTED_ROWS
from ..tables.journal import AUDIT_GAP, AUDIT_VIOLATION
from ..tables.location import Location
from ..tables.schema import Table
from .results import Rows, rows_of_audit, rows_of_progress, rows_of_rejected


def write(folder: Path, table: Table, rows: Sequence[tuple[Any, ...]], part: str = "0") -> None:
    """Write the table, or this part of it, atomically, in place of an earlier one. Raises OSError naming the file."""
    sink = pa.BufferOutputStream()
    pq.write_table(from_rows(table, rows), sink)
    Location(str(folder.absolute())).write(f"{table.name}/part-{part}.parquet", sink.getvalue())


def write_audits(found: Mapping[str, Audit], folder: Path) -> None:
    """Write audit_violation, audit_gap and rejected_rows, of audits by cluster."""
    _write_all(folder, rows_of_audit(found))


def write_progress(found: Mapping[str, Progress], folder: Path) -> None:
    """Write progress, stuck, broker_reassignment, eta_calibration, wave_calibration and rejected_rows, by cluster."""
    _write_all(folder, rows_of_progress(found))


def _write_all(folder: Path, rows: Rows) -> None:
    for table, some in rows.items():
        write(folder, table, some)


def write_batch(found: Mapping[str, Sequence[Violation | Gap | RejectedRow]], folder: Path, part: str) -> None:
    """Write the findings of a batch of a stream, by cluster, as parts of the tables of `write_audits`; none if there
    are no findings. The same batch writes the same files again."""
    for kind, table in ((Violation, AUDIT_VIOLATION), (Gap, AUDIT_GAP)):
        if rows := [(cluster, *one) for cluster, said in found.items() for one in said if isinstance(one, kind)]:
            write(folder, table, rows, part)
    if lines := rows_of_rejected(one for said in found.values() for one in said if isinstance(one, RejectedRow)):
        write(folder, REJECTED_ROWS, lines, part)
