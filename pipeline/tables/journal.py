"""Every table of audits: events of a journal, findings of an audit, and progress.

Bytes and milliseconds are in the names. `journal_event` has the fields of a line (`docs/journal.md`), its place, and
its `cluster`; `detail` and `unknown` (fields of newer versions) keep each value as JSON text. A line that cannot be
read is a row with `problem`.
"""

from __future__ import annotations

from typing import Final

from .schema import Table

JOURNAL_EVENT: Final = Table(
    "journal_event",
    (
        ("cluster", "string", False),
        ("file", "string", False),
        ("line", "long", False),
        ("controller_epoch", "int", True),
        ("seq", "long", True),
        ("row", "int", True),
        ("rows", "int", True),
        ("ts", "timestamp", True),
        ("event", "string", True),
        ("topic", "string", True),
        ("topic_id", "string", True),
        ("partition", "int", True),
        ("replicas", "array<int>", True),
        ("isr", "array<int>", True),
        ("target", "array<int>", True),
        ("origin", "array<int>", True),
        ("leader", "int", True),
        ("leader_epoch", "int", True),
        ("partition_epoch", "long", True),
        ("status", "byte", True),
        ("broker_id", "int", True),
        ("cause", "string", True),
        ("request", "string", True),
        ("detail", "map<string,string>", True),
        ("unknown", "map<string,string>", True),
        ("prev", "string", True),
        ("hash", "string", True),
        ("problem", "string", True),
        ("reason", "string", True),
        ("raw", "string", True),
    ),
)

AUDIT_VIOLATION: Final = Table(
    "audit_violation",
    (
        ("cluster", "string", False),
        ("kind", "string", False),
        ("file", "string", False),
        ("line", "long", False),
        ("controller_epoch", "int", False),
        ("seq", "long", False),
        ("row", "int", False),
        ("event", "string", False),
        ("ts_ms", "long", False),
        ("topic", "string", True),
        ("partition", "int", True),
        ("broker_id", "int", True),
        ("expected", "string", False),
        ("got", "string", False),
    ),
)

AUDIT_GAP: Final = Table(
    "audit_gap",
    (
        ("cluster", "string", False),
        ("kind", "string", False),
        ("file", "string", False),
        ("line", "long", False),
        ("controller_epoch", "int", True),
        ("text", "string", False),
    ),
)

PROGRESS: Final = Table(
    "progress",
    (
        ("cluster", "string", False),
        ("topic", "string", False),
        ("partition", "int", False),
        ("controller_epoch", "int", False),
        ("started_ms", "long", False),
        ("last_ms", "long", False),
        ("ended_ms", "long", True),
        ("ended", "string", True),
        ("origin", "array<int>", True),
        ("replicas", "array<int>", False),
        ("isr", "array<int>", False),
        ("target", "array<int>", False),
        ("leader", "int", False),
        ("adding", "array<int>", False),
        ("waiting_on", "array<int>", False),
        ("joined", "int", False),
        ("isr_losses", "int", False),
        ("bytes_copied", "long", True),
        ("bytes_total", "long", True),
        ("eta_ms", "long", True),
        ("eta_low_ms", "long", True),
        ("eta_high_ms", "long", True),
    ),
)

STUCK: Final = Table(
    "stuck",
    (
        ("cluster", "string", False),
        ("topic", "string", False),
        ("partition", "int", False),
        ("since_ms", "long", False),
        ("still_ms", "long", False),
        ("waiting_on", "array<int>", False),
        ("causes", "array<string>", False),
    ),
)

BROKER_REASSIGNMENT: Final = Table(
    "broker_reassignment",
    (
        ("cluster", "string", False),
        ("ts_ms", "long", False),
        ("broker_id", "int", False),
        ("reassigning_partitions", "int", False),
        ("bytes_in", "long", False),
        ("bytes_out", "long", False),
    ),
)

ETA_CALIBRATION: Final = Table(
    "eta_calibration",
    (
        ("cluster", "string", False),
        ("topic", "string", False),
        ("partition", "int", False),
        ("started_ms", "long", False),
        ("basis", "string", False),
        ("predicted_ms", "long", False),
        ("real_ms", "long", False),
        ("ratio", "double", False),
    ),
)

WAVE_CALIBRATION: Final = Table(
    "wave_calibration",
    (
        ("cluster", "string", False),
        ("plan", "string", False),
        ("wave", "int", False),
        ("moves", "int", False),
        ("completed", "int", False),
        ("bytes", "long", True),  # null: no size of a copied partition is known
        ("started_ms", "long", True),
        ("ended_ms", "long", True),
        ("eta_s", "double", True),
        ("eta_low_s", "double", True),
        ("eta_high_s", "double", True),
        ("real_s", "double", True),
        ("ratio", "double", True),
        ("verdict", "string", False),
    ),
)
