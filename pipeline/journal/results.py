"""Results of audits and progress as rows of their tables, which begin with the cluster where the table has it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from ..audit.values import Audit, RejectedRow
from ..progress.values import Progress
from ..tables.declared import REJECTED_ROWS
from ..tables.journal import (
    AUDIT_GAP,
    AUDIT_VIOLATION,
    BROKER_REASSIGNMENT,
    ETA_CALIBRATION,
    PROGRESS,
    STUCK,
    WAVE_CALIBRATION,
)
from ..tables.schema import Table

Rows: TypeAlias = Mapping[Table, Sequence[tuple[Any, ...]]]


def rows_of_audit(found: Mapping[str, Audit]) -> Rows:
    """By table, of audits by cluster."""
    return {
        AUDIT_VIOLATION: [(cluster, *one) for cluster, audit in found.items() for one in audit.violations],
        AUDIT_GAP: [(cluster, *one) for cluster, audit in found.items() for one in audit.gaps],
        REJECTED_ROWS: rows_of_rejected(one for audit in found.values() for one in audit.rejected_rows),
    }


def rows_of_progress(found: Mapping[str, Progress]) -> Rows:
    """By table, of progress by cluster."""
    parts: Mapping[Table, Callable[[Progress], Sequence[tuple[Any, ...]]]] = {
        PROGRESS: lambda one: one.moves,
        STUCK: lambda one: one.stuck,
        BROKER_REASSIGNMENT: lambda one: one.series,
        ETA_CALIBRATION: lambda one: one.calibration,
        WAVE_CALIBRATION: lambda one: one.waves,
    }
    rows = {
        table: [(cluster, *row) for cluster, one in found.items() for row in rows_in(one)]
        for table, rows_in in parts.items()
    }
    return {**rows, REJECTED_ROWS: rows_of_rejected(row for one in found.values() for row in one.rejected_rows)}


def rows_of_rejected(lines: Iterable[RejectedRow]) -> list[tuple[Any, ...]]:
    """Rows of the table, which are about no partition."""
    return [(*line, None, None, None) for line in lines]
